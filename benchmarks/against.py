"""Two runs compared: what of ours got slower or faster, and by how much beyond the noise of both."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median

from benchmarks import noise
from benchmarks.figures import Result
from benchmarks.machine import BUSY
from benchmarks.noise import Shift

#: No change below this counts: memory and code are laid out anew in each process, and that alone moves a figure.
LEAST = 0.15
#: None below this, where nothing of both runs is beside a figure: then another load is seen as another speed.
LEAST_ALONE = 0.25
#: None below this where a run has a single round, whose spread is not known.
LEAST_ONCE = 1.0
#: So many of a topic's peers and limits tell what moved between the runs; where it has fewer, all topics' do.
ENOUGH = 8


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
    costs both alike. Where there is none, what the machine's peers and limits changed by is taken off. Noise is what
    a figure that did not change keeps below, but for one in a hundred (`noise.LEVEL`).
    Verdicts: "slower", "faster", "as before", or "lost" where a figure is there no more; "perhaps slower" and "perhaps
    faster" where others used the machine around that topic, which may be all there is to it.
    """
    pairs = list(_pairs(before, now))
    moved = _Moved(pairs)
    busy = {one["topic"] for report in (before, now) for one in report["busy"] if one["used"] > BUSY}
    changes = []
    for pair in pairs:
        for entry in pair.now.entries:
            if entry.kind == "ours" and pair.then.entry(entry.name).figures:
                change = _change(pair, entry.name, moved)
                changes.append(_doubted(change) if pair.topic in busy else change)
    return changes


class _Pair:
    """A contest that both runs held: what became of its figures, and what they are divided by."""

    def __init__(self, then: Result, now: Result):
        self.then, self.now, self.topic = then, now, now.topic
        self._shifts: dict[tuple[str, str], Shift | None] = {}
        #: The peers and limits that both runs have.
        self.others = [one.name for one in now.entries if one.kind != "ours" and self.shift(one.name)]
        limits = [one.name for one in now.entries if one.kind == "limit" and one.name in self.others]
        peers = sorted(self.others, key=lambda name: self.shift(name).variance)
        #: The limit, or the steadiest peer, that both runs have; "" where there is none.
        self.beside = next(iter(limits or peers), "")
        #: The usual variance of figures of ours beside it, and of them alone.
        self.usual = {beside: self._usual(beside) for beside in (self.beside, "")}

    def shift(self, name: str, beside: str = "") -> Shift | None:
        """Return `noise.shift` of a figure."""
        if (name, beside) not in self._shifts:
            self._shifts[name, beside] = noise.shift(self.then, self.now, name, beside)
        return self._shifts[name, beside]

    def _usual(self, beside):
        ours = [self.shift(one.name, beside) for one in self.now.entries if one.kind == "ours"]
        return noise.usual_variance(one for one in ours if one)


def _pairs(before: dict, now: dict) -> Iterator[_Pair]:
    old = {(one.topic, one.title): one for one in before["results"]}
    for result in now["results"]:
        then = old.get((result.topic, result.title))
        if then and (then.unit, then.better) == (result.unit, result.better):
            yield _Pair(then, result)


class _Moved:
    """What moved between the runs though it did not change: peers and limits, beside another, and by themselves."""

    def __init__(self, pairs: Iterable[_Pair]):
        self._beside: dict[str, list[float]] = {}
        self._alone: dict[str, list[tuple[Shift, float]]] = {}
        for pair in pairs:
            for name in pair.others:
                self._alone.setdefault(pair.topic, []).append((pair.shift(name), pair.usual[""]))
                if name != pair.beside and (shift := pair.shift(name, pair.beside)):
                    noisy = shift.in_errors(0.0, pair.usual[pair.beside])
                    self._beside.setdefault(pair.topic, []).append(noisy)

    def others(self, topic: str, alone: bool) -> list[float]:
        """Return what others beside a topic's figures moved by, in standard errors."""
        if not alone:
            return _enough(self._beside, topic)
        drift = self.drift(topic)
        return [shift.in_errors(drift, usual) for shift, usual in _enough(self._alone, topic)]

    def drift(self, topic: str) -> float:
        """Return by how much the machine itself got slower, as a logarithm."""
        return median([shift.by for shift, _ in _enough(self._alone, topic)] or [0.0])


def _enough(by_topic, topic):
    own = by_topic.get(topic, [])
    return own if len(own) >= ENOUGH else [one for all_ in by_topic.values() for one in all_]


def _doubted(change):
    sure = change.verdict not in ("slower", "faster")
    return change if sure else replace(change, verdict=f"perhaps {change.verdict}")


def _change(pair, name, moved):
    about = (pair.topic, pair.now.title, name)
    if not pair.now.entry(name).figures:
        return Change(*about, math.inf, 1.0, "lost", "")
    beside = pair.beside if pair.shift(name, pair.beside) else ""  # they may never have been in one round
    shift = pair.shift(name, beside)
    if shift is None:
        return Change(*about, 1.0, math.inf, "as before", beside)
    by = shift.by if beside else shift.by - moved.drift(pair.topic)
    beyond = max(_least(shift, beside), shift.beyond(pair.usual[beside], moved.others(pair.topic, not beside)))
    verdict = "slower" if by > beyond else "faster" if by < -beyond else "as before"
    return Change(*about, math.exp(by), math.exp(beyond), verdict, beside)


def _least(shift, beside):
    return math.log1p(LEAST_ONCE if min(shift.units) == 1 else LEAST if beside else LEAST_ALONE)
