"""`Timing`: how long one call takes, as a median with its spread, and whether it was measured or modelled."""

from dataclasses import dataclass

import numpy as np

from course.traces.figures import Figure
from course.units import in_words


@dataclass(frozen=True, repr=False)
class Timing(Figure):
    """How long one call takes: `times` in seconds, one a repeat, sorted (a repeat of a short call is many in a row).

    `first_call` is the very first call, in seconds, set-up included; it is not among `times`. `threads` is how many
    CPU threads torch could use, `device` what was waited for.

    `kind` is "measured", or "modelled" of a simulated GPU; `origin` then says on what the model stands.
    """

    times: tuple
    first_call: float
    threads: int
    device: str
    kind: str = "measured"
    origin: str = ""

    @property
    def median(self) -> float:
        """Seconds of the middle repeat."""
        return float(np.quantile(self.times, 0.5))

    @property
    def iqr(self) -> float:
        """Seconds between the first and the third quartile: the middle half of the repeats lies within."""
        return float(np.subtract(*np.quantile(self.times, (0.75, 0.25))))

    @property
    def repeats(self) -> int:
        """How many times were taken."""
        return len(self.times)

    def gflops(self, flops: float) -> float:
        """Return 10⁹ operations a second, for a call of `flops` operations."""
        return flops / self.median / 1e9

    def __repr__(self):
        if self.kind != "measured":
            return f"{in_words(self.median)} ({self.label}; {self.device})"
        threads = f"{self.threads} thread{'s' if self.threads != 1 else ''}"
        return f"{in_words(self.median)} ± {in_words(self.iqr)} (median of {self.repeats}, {self.device}, {threads})"
