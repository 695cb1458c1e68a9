"""Darts at a quarter disc: how the estimate of pi closes in, and how much of the error is chance."""

import base64
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import traitlets

from course import draw
from course.draw.picture import Picture
from course.pi import METHODS, PiEstimate, darts, estimate_pi
from course.widgets.exhibits.exhibit import Exhibit

_SHOWN = 1000  # more darts are a blot, and a slow page
_FEWEST = 32  # what the spread-out methods need
_STOPS = [_FEWEST, *(step * 10**power for power in range(1, 7) for step in (1, 2, 5) if step * 10**power > 49), 10**7]
_COMPUTED = 1_000_000  # darts of the longest run that is stored: all of them take a tenth of a second
_STORED = 600  # darts of each stored run that are drawn


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


class PiDarts(Exhibit):
    """Throws `samples` darts (32 to 10 million) of `seed` by `method`; `result.estimate` is the `PiEstimate`.

    At most 1,000 darts are drawn; all are counted. Three seeds, and up to a million darts, lie in the page.
    """

    module = "pi_darts.js"
    styles = ("pi_darts.css",)
    background = True

    samples = traitlets.Int(10_000, min=_FEWEST, max=10_000_000).tag(state=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(state=True)
    method = traitlets.Enum(list(METHODS), "pseudo").tag(state=True)

    def engine(self, samples: int, seed: int, method: str) -> Thrown | None:
        """Return `Thrown`; the estimates come from few darts to all, and stop when asked."""
        steps = np.unique(np.geomspace(_FEWEST, samples, 25).round().astype(int)).tolist()
        running = []
        for step in steps:
            if self.stopped.is_set():
                return None
            running.append(estimate_pi(step, seed, method=method))
            self.progress(step / samples)
        return Thrown(*darts(min(samples, _SHOWN), seed, method), running)

    def answer(self, result: Thrown) -> dict[str, Any]:
        """Return the darts, and [darts, value, standard error] of each estimate."""
        return {"darts": _bytes(result.x, result.y), "running": _numbers(result.running)}

    def stored(self) -> list:
        """Return nothing: the page puts its answers together from `data`."""
        return []

    def data(self) -> dict[str, Any]:
        """Return, for each method and three seeds, the estimates at each stop, and some darts."""
        seeds = [self.seed, *(seed for seed in range(3) if seed != self.seed)][:3]
        runs = [_stored_run(seed, method) for method in METHODS for seed in seeds]
        own = [] if self.result is None else [{"of": self._of, **self.answer(self.result)}]
        return {"stops": sorted({*_STOPS, self.samples}), "methods": list(METHODS), "runs": runs, "own": own}

    def draw(self, result: Thrown) -> Picture:
        """Return the darts beside the band of two standard errors."""
        return draw.darts(result.x, result.y, result.running)


@cache
def _stored_run(seed, method):
    """Return what the page has of a seed and a method; spread-out darts lie elsewhere for each number of them."""
    counts = [stop for stop in _STOPS if stop < _STORED] if method == "stratified" else []
    shown = [[count, _bytes(*darts(count, seed, method))] for count in [*counts, _STORED]]
    estimates = [estimate_pi(stop, seed, method=method) for stop in _STOPS if stop <= _COMPUTED]
    return {"seed": seed, "method": method, "darts": shown, "running": _numbers(estimates)}


def _bytes(x, y):
    """Return the darts as base64 of two bytes each, x and y in 0 … 255."""
    pairs = np.stack([x, y], 1).clip(0, 1) * 255
    return base64.b64encode(pairs.round().astype(np.uint8).tobytes()).decode()


def _numbers(estimates):
    return [[one.samples, float(f"{one.value:.9g}"), float(f"{one.standard_error:.4g}")] for one in estimates]
