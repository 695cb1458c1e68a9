"""Darts at a quarter disc: how the estimate of pi closes in, and how much of the error is chance."""

import base64
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import traitlets

from course import draw
from course.draw.picture import Picture
from course.pi import METHODS, PiEstimate, darts, estimate_pi, one_stream
from course.widgets.exhibits.exhibit import Exhibit

_SHOWN = 1000  # more darts are a blot, and a slow page
_FEWEST = 32  # what the spread-out methods need
_STOPS = [_FEWEST, *(step * 10**power for power in range(1, 7) for step in (1, 2, 5) if step * 10**power > 49), 10**7]
_COMPUTED = 1_000_000  # darts of the longest run that is stored: all of them take a tenth of a second
_STORED = 600  # darts of each stored run that are drawn
_SERVERS = [1, 2, 4, 16]
_OTHERS = range(100, 120)  # seeds whose estimates show what is usual: about 19 of 20 lie in an honest band
_CROWDED = 100_000  # darts of the longest of these runs
_SCALE = 3000  # their errors times √darts, in whole numbers of 16 bits


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

    `servers` (1, 2, 4 or 16) share the darts, 32 each or more: more servers raise `samples`, fewer darts lower
    `servers`. With `streams` "own" they throw what one alone would; with "same" all throw the first share, and the
    error claimed is that of as many different darts. At most 1,000 darts are drawn; all are counted. Three seeds, and
    up to a million darts, lie in the page, and of twenty other seeds the estimates for up to 100,000.
    """

    module = "pi_darts.js"
    styles = ("pi_darts.css",)
    background = True

    samples = traitlets.Int(10_000, min=_FEWEST, max=10_000_000).tag(state=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(state=True)
    method = traitlets.Enum(list(METHODS), "pseudo").tag(state=True)
    servers = traitlets.Enum(_SERVERS, 1).tag(state=True)
    streams = traitlets.Enum(["own", "same"], "own").tag(state=True)

    def engine(self, samples: int, seed: int, method: str, servers: int, streams: str) -> Thrown | None:
        """Return `Thrown`; the estimates come from few darts to all, and stop when asked."""
        different = samples if streams == "own" else samples // servers
        steps = np.unique(np.geomspace(_FEWEST * servers, samples, 25).round().astype(int)).tolist()
        running = []
        for step in steps:
            if self.stopped.is_set():
                return None
            own = streams == "own"
            running.append(estimate_pi(step, seed, method=method) if own else one_stream(step, servers, seed, method))
            self.progress(step / samples)
        return Thrown(*darts(min(different, _SHOWN), seed, method), running)

    @traitlets.observe("servers")
    def _lift(self, change):
        self.samples = max(self.samples, _FEWEST * self.servers)

    @traitlets.observe("samples")
    def _fit(self, change):
        self.servers = max(few for few in _SERVERS if few <= min(self.servers, self.samples // _FEWEST))

    def answer(self, result: Thrown) -> dict[str, Any]:
        """Return the darts, and [darts, value, standard error] of each estimate."""
        return {"darts": _bytes(result.x, result.y), "running": _numbers(result.running)}

    def stored(self) -> list:
        """Return nothing: the page puts its answers together from `data`."""
        return []

    def data(self) -> dict[str, Any]:
        """Return for each method, and three seeds, the estimates at each stop, and some darts; other seeds' errors."""
        seeds = [self.seed, *(seed for seed in range(3) if seed != self.seed)][:3]
        runs = [_stored_run(seed, method) for method in METHODS for seed in seeds]
        own = [] if self.result is None else [{"of": self._of, **self.answer(self.result)}]
        offered = {"stops": sorted({*_STOPS, self.samples}), "methods": list(METHODS), "servers": _SERVERS}
        others = {"counts": _counts(_CROWDED), "scale": _SCALE, "errors": {name: _others(name) for name in METHODS}}
        return {**offered, "fewest": _FEWEST, "runs": runs, "own": own, "others": others}

    def draw(self, result: Thrown) -> Picture:
        """Return the darts beside the band of two standard errors."""
        shown = draw.darts(result.x, result.y, result.running)
        if self.streams == "own" or self.servers == 1:
            return shown
        alone = result.estimate.samples // self.servers
        warning = f"{self.servers} servers threw the same {alone:,} darts: the band claims too little."
        return draw.html(f"<p>{warning}</p>{shown.html}", f"{warning} {shown.alt}")


def _counts(most):
    """Return how many different darts the stops up to `most` have, for each number of servers that share a stream."""
    shares = {stop // servers for stop in _STOPS for servers in _SERVERS}
    return sorted(count for count in shares if _FEWEST <= count <= most)


@cache
def _others(method):
    """Return the errors of other seeds, a row for each of them, as base64 of whole numbers of 16 bits."""
    counts = _counts(_CROWDED)
    errors = [[estimate_pi(count, seed, method=method).error * count**0.5 for count in counts] for seed in _OTHERS]
    whole = (_SCALE * np.array(errors)).round().clip(-32767, 32767).astype("<i2")
    return base64.b64encode(whole.tobytes()).decode()


@cache
def _stored_run(seed, method):
    """Return what the page has of a seed and a method; spread-out darts lie elsewhere for each number of them."""
    counts = [stop for stop in _STOPS if stop < _STORED] if method == "stratified" else []
    shown = [[count, _bytes(*darts(count, seed, method))] for count in [*counts, _STORED]]
    estimates = [estimate_pi(count, seed, method=method) for count in _counts(_COMPUTED)]
    return {"seed": seed, "method": method, "darts": shown, "running": _numbers(estimates)}


def _bytes(x, y):
    """Return the darts as base64 of two bytes each, x and y in 0 … 255."""
    pairs = np.stack([x, y], 1).clip(0, 1) * 255
    return base64.b64encode(pairs.round().astype(np.uint8).tobytes()).decode()


def _numbers(estimates):
    return [
        [estimate.samples, float(f"{estimate.value:.9g}"), float(f"{estimate.standard_error:.4g}")]
        for estimate in estimates
    ]
