"""`estimate_pi`: cut the darts in ranges, count each range anywhere, and say how far off the answer is likely to be."""

from concurrent.futures import Executor
from dataclasses import dataclass
from math import pi, sqrt
from numbers import Real

import numpy as np

from course.mapreduce import map_reduce
from course.pi import philox, pseudo
from course.pi.dart_places import BLOCK
from course.pi.spread import sobol_count, sobol_points, stratified_count, stratified_points
from course.progress_line import LateLine

#: Independent sets of darts a method throws: their spread is the standard error of the two that are not plain chance.
METHODS = {"pseudo": 1, "philox": 1, "sobol": 16, "stratified": 16}
_LARGEST = {"pseudo": 2**62, "philox": 2**62, "sobol": 16 * 2**32, "stratified": 16 * 2**40}
_AT_ONCE = 1 << 28  # darts that compiled code throws before Python may see an interrupt: 30 to 300 ms
_PARTS = 8  # for an executor: two, four or eight workers end together; each costs some milliseconds


@dataclass(frozen=True)
class PiEstimate:
    """`inside` of `samples` darts fell inside; `value` = 4·inside/samples, give or take one `standard_error`."""

    value: float
    standard_error: float
    inside: int
    samples: int

    @property
    def error(self) -> float:
        """How far `value` is from pi, signed."""
        return self.value - pi

    def __str__(self):
        return f"{self.value:.10g} ± {self.standard_error:.2g}"


@dataclass(frozen=True)
class _Range:
    # blocks first ≤ k < last, numbered through all replicates; a few dozen bytes, all that travels to a worker
    method: str
    seed: int
    samples: int
    first: int
    last: int


def estimate_pi(
    samples: float, seed: int = 0, executor: Executor | None = None, method: str = "pseudo", parts: int | None = None
) -> PiEstimate:
    """Throw `samples` darts at the unit square and return a `PiEstimate` from the share inside the quarter disc.

    `method`: "pseudo" or "philox" (independent darts of two generators; standard error ∝ samples^-1/2), "sobol" or
    "stratified" (spread out evenly, in 16 independently randomised sets, whose spread gives the standard error: itself
    known to about a fifth). The darts are thrown by compiled code, on one thread for each part; without numba the same
    darts by numpy, 5 to 30 times slower, which a warning says once.
    `executor`: any `concurrent.futures.Executor`; `parts`: how many ranges the darts are cut into (default 8 with an
    executor, else 1). Sample i of a seed is the same dart on any machine, so `inside` depends on `samples`, `seed`
    and `method`, never on `parts` or `executor`. Bytes moved: about 300 a part, there and back.

    Raises ValueError for samples that are not a whole number from 1 (32 for the spread-out methods), a negative seed,
    an unknown method, parts below 1; RuntimeError for an executor that is closed.

    >>> estimate_pi(100_000, seed=1).inside == estimate_pi(100_000, seed=1, parts=7).inside
    True
    """
    samples, seed = check_darts(samples, seed, method)
    parts = _whole("parts", parts, 1) if parts is not None else (_PARTS if executor is not None else 1)
    blocks = METHODS[method] * _blocks_a_replicate(method, samples)
    parts = min(parts, blocks)
    ends = [blocks * part // parts for part in range(parts + 1)]
    ranges = [_Range(method, seed, samples, *pair) for pair in zip(ends, ends[1:], strict=False)]
    inside = map_reduce(_count, _add, ranges, executor, associative=True)
    return PiEstimate(4 * sum(inside) / samples, _standard_error(inside, method, samples), sum(inside), samples)


def check_darts(samples: object, seed: object, method: str) -> tuple[int, int]:
    """Return `samples` and `seed` as ints; raises ValueError, as `estimate_pi` does, for what it can't throw."""
    if method not in METHODS:
        raise ValueError(f"estimate_pi(method={method!r}): the methods are {', '.join(METHODS)}.")
    least = 1 if METHODS[method] == 1 else 2 * METHODS[method]
    return _whole("samples", samples, least, _LARGEST[method]), _whole("seed", seed, 0)


def darts(samples: int, seed: int = 0, method: str = "pseudo") -> tuple[np.ndarray, np.ndarray]:
    """Return the darts that `estimate_pi` counts, for a picture: float64 arrays (x, y) of the quarter square 0…1.

    At most one block (65,536) of darts; those of "sobol" and "stratified" are their first set alone, as if no other
    were thrown. Raises ValueError as `estimate_pi` does.
    """
    if method not in METHODS:
        raise ValueError(f"darts(method={method!r}): the methods are {', '.join(METHODS)}.")
    samples = _whole("samples", samples, 1, BLOCK, "darts")
    return _POINTS[method](_whole("seed", seed, 0, owner="darts"), 0, samples, 0, samples)


def _count(work):
    # inside counts, one a replicate: whole numbers, so that they add up the same in any order
    inside = [0] * METHODS[work.method]
    each = _blocks_a_replicate(work.method, work.samples)
    done, darts_here = 0, min(work.samples, (work.last - work.first) * BLOCK)
    with LateLine("darts") as line:
        for replicate in range(work.first // each, -(-work.last // each)):
            size = _replicate_size(work.method, work.samples, replicate)
            first = max(work.first - replicate * each, 0) * BLOCK
            last = min((work.last - replicate * each) * BLOCK, size)
            for start in range(first, last, _AT_ONCE):
                end = min(start + _AT_ONCE, last)
                inside[replicate] += _COUNTS[work.method](work.seed, replicate, size, start, end)
                done += end - start
                line.look(done, darts_here)
    return inside


def _one_set(function):
    """Return a function of `(seed, replicate, size, first, last)` that calls `function(seed, first, last)`."""
    return lambda seed, replicate, size, first, last: function(seed, first, last)


# method -> function of (seed, replicate, size, first, last): how many of these darts are inside, and where they fall
_COUNTS = {
    "pseudo": _one_set(pseudo.count),
    "philox": _one_set(philox.count),
    "sobol": sobol_count,
    "stratified": stratified_count,
}
_POINTS = {
    "pseudo": _one_set(pseudo.points),
    "philox": _one_set(philox.points),
    "sobol": sobol_points,
    "stratified": stratified_points,
}


def _add(counts, more):
    return [count + another for count, another in zip(counts, more, strict=True)]


def _replicate_size(method, samples, replicate):
    return samples // METHODS[method] + (replicate < samples % METHODS[method])


def _blocks_a_replicate(method, samples):
    return -(-_replicate_size(method, samples, 0) // BLOCK)


def _standard_error(inside, method, samples):
    if METHODS[method] == 1:
        # one more inside and one more outside than were seen: a share of 0 or 1 of few darts would claim no error
        share = (sum(inside) + 1) / (samples + 2)
        return 4 * sqrt(share * (1 - share) / samples)
    values = [4 * count / _replicate_size(method, samples, index) for index, count in enumerate(inside)]
    # sixteen sets may agree by chance: claim no less than one dart in all
    return max(float(np.std(values, ddof=1)) / sqrt(len(values)), 4 / samples)


def _whole(name, value, least, most=None, owner="estimate_pi"):
    number = int(value) if isinstance(value, Real) and not isinstance(value, bool) and value == value // 1 else None
    if number is None or number < least or (most is not None and number > most):
        upper = f" up to {most:.4g}" if most is not None else ""
        raise ValueError(
            f"{owner}({name}={value!r}): give a whole number from {least}{upper}, such as {max(least, 1000)}."
        )
    return number
