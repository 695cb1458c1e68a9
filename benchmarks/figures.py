"""What was measured: figures by round, their ratios with their spread, and the targets they are held to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median, quantiles


@dataclass(frozen=True)
class Entry:
    """One contestant's figures in its contest's unit, by their round; `problem`: why some are missing."""

    name: str
    kind: str
    samples: tuple[float | None, ...] = ()
    problem: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def with_sample(self, turn: int, figure: float) -> "Entry":
        """Return the entry with the figure of round `turn` as well."""
        missing = (None,) * (turn - len(self.samples))
        return replace(self, samples=(*self.samples, *missing, figure))

    @property
    def figures(self) -> list[float]:
        """Those rounds' figures that are there."""
        return [one for one in self.samples if one is not None]


@dataclass(frozen=True)
class Target:
    """A figure that `ours` must keep: at least (`least`) or at most (`most`) so many times that of `beside`.

    Without `beside` the figure itself. The best of the rounds is compared with the best: other work on a machine only
    ever takes speed away.
    """

    ours: str
    beside: str = ""
    least: float | None = None
    most: float | None = None

    def __str__(self):
        bound = f"≥ {self.least:.4g}" if self.least is not None else f"≤ {self.most:.4g}"
        return f"{bound} of {self.beside}" if self.beside else bound


@dataclass(frozen=True)
class Result:
    """A contest's outcome. `better`: "more" or "less". `starts`: how often each process was started for the rounds."""

    topic: str
    title: str
    unit: str
    better: str
    threads: int
    rounds: int
    entries: tuple[Entry, ...]
    targets: tuple[Target, ...] = ()
    starts: int = 1

    def entry(self, name: str) -> Entry:
        """Return the entry called `name`, one without figures where there is none."""
        return next((one for one in self.entries if one.name == name), Entry(name, "peer", problem="not there"))

    def best(self, name: str) -> float | None:
        """Return the best figure of the entry called `name`, or None."""
        found = self.entry(name).figures
        return (max if self.better == "more" else min)(found) if found else None

    def ratio(self, name: str, beside: str) -> "Spread | None":
        """Return the ratio of two entries, round by round, or None where no round has both."""
        pairs = zip(self.entry(name).samples, self.entry(beside).samples, strict=False)
        rounds = [a / b for a, b in pairs if a is not None and b]
        if not rounds:
            return None
        best, other = self.best(name), self.best(beside)
        return Spread.of(rounds, best / other if best is not None and other else math.nan)

    def starts_of(self, name: str, beside: str = "") -> list[list[tuple[float, float]]]:
        """Return the pairs (figure of `name`, of `beside`) of each start, or of each round where all had one start.

        Without `beside` its figure is 1. Rounds in which one is missing are left out, and starts without a round.
        """
        mine = self.entry(name).samples
        other = self.entry(beside).samples if beside else (1.0,) * len(mine)
        found: dict[int, list[tuple[float, float]]] = {}
        for turn, (a, b) in enumerate(zip(mine, other, strict=False)):
            unit = start_of(turn, self.rounds, self.starts) if self.starts > 1 else turn
            if a is not None and b is not None:
                found.setdefault(unit, []).append((a, b))
        return list(found.values())

    def reference(self) -> Entry | None:
        """Return what all are compared with: the limit, or else the first peer, that has figures."""
        for kind in ("limit", "peer"):
            for one in self.entries:
                if one.kind == kind and one.figures:
                    return one
        return None

    def kept(self, target: Target) -> bool | None:
        """Return whether the target is kept; None where it can't be told."""
        figure = self.best(target.ours)
        if target.beside:
            spread = self.ratio(target.ours, target.beside)
            figure = spread.best if spread else None
        if figure is None:
            return None
        return figure >= target.least if target.least is not None else figure <= target.most


def start_of(turn: int, rounds: int, starts: int) -> int:
    """Return in which of `starts` the round `turn` of `rounds` is: as even as it goes, one after the other."""
    return turn * starts // rounds


@dataclass(frozen=True)
class Spread:
    """A ratio of figures taken in turns: its `median` over the rounds, its quartiles, and the ratio of the bests."""

    median: float
    low: float
    high: float
    best: float
    rounds: int = 1

    @classmethod
    def of(cls, values: Sequence[float], best: float = math.nan) -> "Spread":
        """Return the spread of `values`, one a round."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0], best, 1)
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(median(values), low, high, best, len(values))
