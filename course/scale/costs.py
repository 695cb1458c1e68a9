"""What one gradient costs: seconds of compute, a message, a byte; and the figures that a real machine has recorded."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.traces.figures import Figure


@dataclass(frozen=True)
class Costs:
    """Seconds of what a training does over and over, after LogGP (Alexandrov and others, 1995): overhead, gap a byte.

    - `message`: of a core, at either end of a message. `byte`: of a core, for a byte of gradients that is checked,
      added up and answered. `update`: of a core, for one update of the parameters, whatever their number.
    - `wake`: until a core that had nothing to do runs again: the latency. `switch`, `cold`: of a core that changes to
      another process, and for each byte of gradients that its caches then lack.
    """

    message: float
    byte: float
    update: float
    wake: float = 0.0
    switch: float = 0.0
    cold: float = 0.0
