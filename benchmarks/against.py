"""Two runs compared: what of ours got slower or faster, and by how much beyond the noise of both."""

import math
from dataclasses import dataclass

from benchmarks.figures import Result, Spread

#: No change below this counts: memory is laid out anew in each process, and that alone moves a figure.
LEAST = 0.10
#: So many times the spread of both runs (half of the rounds lie in it) is noise.
TIMES = 2.0


@dataclass(frozen=True)
class Change:
    """A figure of ours then and now. `factor`: above 1 is slower by so much. `beside`: what both were divided by."""

    topic: str
    title: str
    name: str
    factor: float
    noise: float
    verdict: str
    beside: str

    def __str__(self):
        how = f"{self.factor:.2f}× slower" if self.factor >= 1 else f"{1 / self.factor:.2f}× faster"
        beside = f"beside {self.beside}" if self.beside else "with nothing beside it in both runs"
        return f"{self.verdict.upper()}: {self.title}: {self.name}: {how}, {beside}; noise is {self.noise:.2f}×"


def compared(before: dict, now: dict) -> list[Change]:
    """Return a `Change` for each figure of ours that both reports have.

    A ratio to the same limit or peer in each run is compared where there is one: another machine, or a busy one, then
    costs both alike. Verdicts: "slower", "faster", "as before", or "lost" where a figure is there no more.
    """
    old = {(one.topic, one.title): one for one in before["results"]}
    changes = []
    for result in now["results"]:
        then = old.get((result.topic, result.title))
        if then is None or (then.unit, then.better) != (result.unit, result.better):
            continue
        for entry in result.entries:
            if entry.kind == "ours" and then.entry(entry.name).figures:
                changes.append(_change(then, result, entry.name))
    return changes


def _change(then, now, name):
    if not now.entry(name).figures:
        return Change(now.topic, now.title, name, math.inf, 1.0, "lost", "")
    beside = _common(then, now, name)
    was, is_ = (_spread(one, name, beside) for one in (then, now))
    factor = was.median / is_.median
    if now.better == "less":
        factor = 1 / factor
    noise = 1 + max(LEAST, TIMES * math.hypot(_width(was), _width(is_)))
    verdict = "slower" if factor > noise else "faster" if factor < 1 / noise else "as before"
    return Change(now.topic, now.title, name, factor, noise, verdict, beside)


def _common(then, now, name):
    """Return the limit, or the peer whose ratio is the steadiest, that both runs have; "" where there is none."""
    both = [one for one in now.entries if one.kind != "ours" and one.figures and then.ratio(name, one.name)]
    both = [one for one in both if now.ratio(name, one.name)]
    limits = [one.name for one in both if one.kind == "limit"]
    peers = sorted(
        (one.name for one in both),
        key=lambda beside: _width(now.ratio(name, beside)) + _width(then.ratio(name, beside)),
    )
    return next(iter([*limits, *peers]), "")


def _spread(result: Result, name: str, beside: str) -> Spread:
    return result.ratio(name, beside) if beside else Spread.of(result.entry(name).figures)


def _width(spread):
    return (spread.high - spread.low) / spread.median
