"""A simulated training on several continents: which workers compute, which wait, which messages are on their way.

Time is in whole microseconds: `course/widgets/exhibits/continents.js` does the same in a page, with the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from course.scale.region_delays import PLACES, one_way

DESIGNS = ("asynchronous", "synchronous", "ring")
#: Microseconds in which a server applies a gradient, or a rank of the ring adds a piece.
UPDATE = 1000
SERVER = -1  # in the place of a worker's number


class Message(NamedTuple):
    """A gradient or parameters on their way: from whom to whom (workers' numbers, or SERVER), when (microseconds)."""

    source: int
    target: int
    sent: int
    arrives: int


class Computing(NamedTuple):
    """A worker computes one gradient, from `begins` to `ends` (microseconds)."""

    worker: int
    begins: int
    ends: int


@dataclass(frozen=True)
class Timeline:
    """What happened until `horizon` (microseconds), in order: `computing`, `messages`, and `updates`.

    An update is (microsecond, worker, staleness); a synchronous one, or the ring's, stands once for each worker.
    """

    workers: int
    horizon: int
    computing: tuple[Computing, ...]
    messages: tuple[Message, ...]
    updates: tuple[tuple[int, int, int], ...]

    @property
    def rate(self) -> float:
        """Gradients a second that became part of the parameters."""
        return 1e6 * len(self.updates) / self.horizon

    def waits(self, worker: int) -> float:
        """Return the share of the time, 0 to 1, in which this worker did not compute."""
        busy = sum(min(turn.ends, self.horizon) - turn.begins for turn in self.computing if turn.worker == worker)
        return 1 - busy / self.horizon

    def staleness(self, worker: int) -> float:
        """Return the mean staleness of this worker's gradients; 0 where there was none."""
        ages = [age for _, updater, age in self.updates if updater == worker]
        return sum(ages) / len(ages) if ages else 0.0


def continents(
    design: str,
    workers: Sequence[str],
    server: str,
    compute: int,
    wire: int = 0,
    horizon: int = 20_000_000,
) -> Timeline:
    """Return the `Timeline` of a training with a worker at each of the places `workers`.

    - `design`: "asynchronous", "synchronous": with the parameters at `server`, a place; "ring": each gives to the next.
    - `compute`: microseconds to compute a gradient. `wire`: microseconds that a line needs for a whole gradient, or for
      all parameters. Each pair of machines has a line of its own. A ring cuts a gradient into a piece for each worker.

    Raises ValueError for another design or place, or a number that is too small.
    """
    _check(design, workers, server, compute, wire, horizon)
    if design == "ring":
        return _ring(workers, compute, wire, horizon)
    away = [one_way(place, server) + wire for place in workers]
    return _served(away, compute, horizon, len(workers) if design == "synchronous" else 1)


def _check(design, workers, server, compute, wire, horizon):
    if design not in DESIGNS:
        raise ValueError(f"continents(design={design!r}): use one of {', '.join(DESIGNS)}.")
    if unknown := [place for place in (*workers, server) if place not in PLACES]:
        raise ValueError(f"continents: no place {unknown[0]!r}; there are {', '.join(PLACES)}.")
    if not workers or compute < 1 or wire < 0 or horizon < 1:
        settings = f"workers={list(workers)}, compute={compute}, wire={wire}, horizon={horizon}"
        raise ValueError(
            f"continents({settings}): give a worker, a microsecond or more to compute, a wire of 0 or more."
        )


def _served(away, compute, horizon, together):
    """Run workers that are `away` microseconds from a server, which makes an update of `together` gradients."""
    computing, messages, updates = [], [], []
    arriving: list[tuple[int, int, int]] = []  # when a gradient arrives, whose, of which version
    free = version = 0
    waiting: list[tuple[int, int]] = []

    def answer(sent, worker):
        begins = sent + away[worker]
        ends = begins + compute
        messages.append(Message(SERVER, worker, sent, begins))
        if begins < horizon:
            computing.append(Computing(worker, begins, ends))
        if ends < horizon:
            messages.append(Message(worker, SERVER, ends, ends + away[worker]))
            heappush(arriving, (ends + away[worker], worker, version))

    for worker in range(len(away)):
        answer(0, worker)
    while arriving and arriving[0][0] < horizon:
        arrived, worker, pulled = heappop(arriving)
        waiting.append((worker, pulled))
        if len(waiting) < together:
            continue
        free = max(free, arrived) + UPDATE
        updates += [
            (free, worker, version - version_used) for worker, version_used in sorted(waiting) if free < horizon
        ]
        version += 1
        for worker, _ in sorted(waiting):
            answer(free, worker)
        waiting = []
    return Timeline(len(away), horizon, tuple(sorted(computing)), tuple(sorted(messages)), tuple(updates))


def _ring(places, compute, wire, horizon):
    """Run ranks that compute, and then pass pieces to the next, 2·(size − 1) times."""
    size = len(places)
    away = [one_way(place, places[(rank + 1) % size]) + wire // size for rank, place in enumerate(places)]
    computing, messages, updates, ready = [], [], [], [0] * size
    while min(ready) < horizon:
        for rank, begins in enumerate(ready):
            if begins < horizon:
                computing.append(Computing(rank, begins, begins + compute))
        ready = [begins + compute for begins in ready]
        for _ in range(2 * (size - 1)):
            arrives = [sent + away[rank] for rank, sent in enumerate(ready)]
            messages += [Message(rank, (rank + 1) % size, ready[rank], arrives[rank]) for rank in range(size)]
            ready = [max(ready[rank], arrives[rank - 1]) + UPDATE for rank in range(size)]
        updates += [(ends, rank, 0) for rank, ends in enumerate(ready) if ends < horizon]
    departed = (message for message in messages if message.sent < horizon)
    return Timeline(size, horizon, tuple(sorted(computing)), tuple(sorted(departed)), tuple(sorted(updates)))
