"""What one gradient costs: seconds of compute, a message, a byte, a core that sleeps."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Seconds of what a training does over and over, after LogGP (Alexandrov and others, 1995): overhead, gap a byte.

    - `message`: of a core, at either end of a message. `byte`: of a core, for a byte of gradients that is taken in:
      checked, added up and answered.
    - `wake`: until a core that had nothing to do runs again: the latency. `switch`: of a core that changes to another
      process, or thread.
    """

    message: float
    byte: float
    wake: float = 0.0
    switch: float = 0.0
