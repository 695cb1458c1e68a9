"""Darts at a quarter disc: how the estimate of pi closes in, and how much of the error is chance."""

from dataclasses import dataclass

import ipywidgets
import numpy as np
import traitlets

from course import draw
from course.draw.picture import Picture
from course.pi import METHODS, PiEstimate, darts, estimate_pi
from course.widgets.explorer import WIDE, Explorer

_SHOWN = 3000  # more darts are a blot, and a slow page
_FEWEST = 32  # what the spread-out methods need


@dataclass(frozen=True, eq=False)
class Thrown:
    """`x`, `y`: the darts shown, float64 in 0…1; `running`: estimates for more and more darts, at last for all."""

    x: np.ndarray
    y: np.ndarray
    running: list[PiEstimate]

    @property
    def estimate(self) -> PiEstimate:
        """The `PiEstimate` of all darts."""
        return self.running[-1]


class PiDarts(Explorer):
    """Throws `samples` darts (32 to 10 million) of `seed` by `method`; `result.estimate` is the `PiEstimate`.

    At most 3,000 darts are drawn; all are counted.
    """

    background = True

    samples = traitlets.Int(10_000, min=_FEWEST, max=10_000_000).tag(state=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(state=True)
    method = traitlets.Enum(list(METHODS), "pseudo").tag(state=True)

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the slider of samples (in powers of ten), the seed and the method."""
        shown = {"min": np.log10(_FEWEST), "max": 7, "step": 0.05, "readout_format": ",.0f", "layout": WIDE}
        many = self.tied("samples", ipywidgets.FloatLogSlider, "Darts", (float, _within), **shown)
        seed = self.tied("seed", ipywidgets.BoundedIntText, "Seed", min=0, max=2**31 - 1)
        return [many, ipywidgets.HBox([seed, self.choice("method", list(METHODS), "Method")])]

    def compute(self) -> Thrown | None:
        """Return `Thrown`; the estimates come from few darts to all, and stop when asked."""
        samples, seed, method = self.samples, self.seed, self.method
        steps = np.unique(np.geomspace(_FEWEST, samples, 25).round().astype(int)).tolist()
        running = []
        for step in steps:
            if self.stopped.is_set():
                return None
            running.append(estimate_pi(step, seed, method=method))
            self.progress(step / samples)
        return Thrown(*darts(min(samples, _SHOWN), seed, method), running)

    def draw(self, result: Thrown) -> Picture:
        """Return the darts beside the band of two standard errors."""
        return draw.darts(result.x, result.y, result.running)


def _within(value):
    return min(max(round(value), _FEWEST), 10_000_000)
