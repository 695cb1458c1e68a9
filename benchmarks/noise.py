"""How much a figure differs between two runs, and how much of that the runs' own noise explains.

What varies: rounds within a process, processes of one program (memory is laid out anew in each), and the machine
between two runs. The first two are seen in each run. The last is seen in peers and limits: they are the same programs
in both runs, so what they changed by is noise. All figures are logarithms: a factor in one direction or in the other.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from scipy.special import stdtrit

from benchmarks.figures import Result

#: One figure in so many is called slower or faster though nothing changed.
LEVEL = 0.01
#: A figure's own spread is known from a few starts; that of the contest's figures of ours counts as much as this many.
#: (Moderated t: G. Smyth, "Linear models and empirical Bayes methods …", Stat. Appl. Genet. Mol. Biol. 3, 2004.)
USUAL = 4


@dataclass(frozen=True)
class Shift:
    """What changed from one run to the next: `by`, above 0 where it got slower; `variance` of a unit, from `free`
    degrees of freedom; `units`: starts or rounds in each run.
    """

    by: float
    variance: float
    free: int
    units: tuple[int, int]

    def error(self, usual: float) -> float:
        """Return the standard error of `by`, `usual` being the variance of the figures beside it."""
        mixed = (USUAL * usual + self.free * self.variance) / (USUAL + self.free)
        return math.sqrt(mixed * sum(1 / count for count in self.units))

    def in_errors(self, drift: float, usual: float) -> float:
        """Return `by`, less a `drift`, in standard errors; 0 where none is known."""
        error = self.error(usual)
        return (self.by - drift) / error if error else 0.0

    def beyond(self, usual: float, others: Sequence[float]) -> float:
        """Return the least change that noise does not explain at `LEVEL`.

        `others`: what did not change, but moved (`in_errors`). Where it moved by more than errors explain, errors are
        scaled up by as much, as particle physicists scale those of measurements that disagree (Review of Particle
        Physics, "Introduction", section 5.2.2).
        """
        within = _quantile(USUAL + self.free)
        between = math.sqrt(fmean(one * one for one in others)) * _quantile(len(others)) if others else 0.0
        return self.error(usual) * max(within, between)


def _quantile(free):
    return float(stdtrit(free, 1 - LEVEL / 2))


def shift(then: Result, now: Result, name: str, beside: str = "") -> Shift | None:
    """Return how the figure `name`, divided by the one it stands `beside`, changed; None where one is missing or 0."""
    was, is_ = (_units(one, name, beside) for one in (then, now))
    if not was or not is_:
        return None
    by = fmean(is_) - fmean(was)
    squares = sum((len(one) - 1) * variance(one) for one in (was, is_) if len(one) > 1)
    free = len(was) + len(is_) - 2
    return Shift(by if now.better == "less" else -by, squares / free if free else 0.0, free, (len(was), len(is_)))


def usual_variance(shifts: Iterable[Shift]) -> float:
    """Return the variance of a unit that is usual among those figures: the mean."""
    return fmean([one.variance for one in shifts if one.free] or [0.0])


def _units(result, name, beside):
    """Return the logarithm of the best figure of each start, or of each round where all had one start."""
    found = []
    for rounds in result.starts_of(name, beside):
        best = max if result.better == "more" else min
        mine, other = best(one for one, _ in rounds), best(one for _, one in rounds)
        if min(mine, other) <= 0:  # what a mode adds, or a stop, may be too small to see
            return []
        found.append(math.log(mine / other))
    return found
