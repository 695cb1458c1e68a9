"""Simulated requests at a server that makes batches: which are answered, refused or given up, and after how long.

Time is in whole microseconds: `course/widgets/exhibits/request_dots.js` does the same in a page, with the same numbers.
"""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from course.scale.chance import uniforms


@dataclass(frozen=True)
class SimulatedServer:
    """One worker behind one queue; all times in microseconds.

    A batch takes `first`, and `more` for each request in it; an idle worker takes all that wait, `largest` at most. A
    request that finds `queue` others waiting is refused, 429. A caller leaves after `deadline` (None: never): this
    server doesn't notice, keeps the request's place, and computes it for nobody. (The course's own one does notice.)
    Raises ValueError for what no server has.
    """

    first: int
    more: int
    largest: int = 1
    queue: int = 64
    deadline: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("first", 0), ("more", 0), ("largest", 1), ("queue", 1), ("deadline", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"SimulatedServer({name}={value}): give a whole number, {least} or more.")
        if self.first + self.more < 1:
            raise ValueError(
                "SimulatedServer(first=0, more=0): a batch takes at least a microsecond; raise one of them."
            )

    @property
    def most(self) -> float:
        """Requests a second that it does when every batch is full."""
        return 1e6 * self.largest / (self.first + self.more * self.largest)


@dataclass(frozen=True)
class Outcome:
    """The times of requests: each that was accepted has one place in `arrives`, `begins` and `ends`.

    `refused`: when those that got 429 arrived; `batches`: sizes, in order; `deadline`: the server's. Microseconds.
    """

    arrives: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    refused: tuple[int, ...]
    batches: tuple[int, ...]
    deadline: int | None

    @cached_property
    def stays(self) -> list[int]:
        """Times from arrival to answer, of requests whose callers still waited, the shortest first."""
        pairs = zip(self.arrives, self.ends, strict=True)
        return sorted(e - a for a, e in pairs if self.deadline is None or e - a <= self.deadline)

    @property
    def late(self) -> int:
        """The number of requests that were computed after their callers had left."""
        return len(self.arrives) - len(self.stays)

    def within(self, percent: int) -> int | None:
        """Return the time below which so many percent of the answers stay; None where there is no answer."""
        return self.stays[min(len(self.stays) - 1, len(self.stays) * percent // 100)] if self.stays else None

    def waiting(self, moment: int) -> range:
        """Return the places of the requests that wait at this microsecond, the next one first."""
        return range(bisect_right(self.begins, moment), bisect_right(self.arrives, moment))

    def at_work(self, moment: int) -> range:
        """Return the places of the requests in the worker's batch at this microsecond."""
        return range(bisect_right(self.ends, moment), bisect_right(self.begins, moment))

    @cached_property
    def fullest(self) -> int:
        """The first arrival after which the most requests wait; 0 where none was accepted."""
        return max(self.arrives, key=lambda arrival: len(self.waiting(arrival)), default=0)


def arrivals(rate: float, seconds: float, seed: int) -> list[int]:
    """Return the microseconds below `seconds` at which requests come, `rate` a second on average (a Poisson process).

    With the same seed another rate has the same pattern, stretched. ValueError for a rate that is not above 0.
    """
    if not rate > 0:
        raise ValueError(f"arrivals(rate={rate}): give requests a second, above 0.")
    times, arrival = [], 0
    for uniform in uniforms(seed):
        arrival += math.floor(-math.log(1 - uniform) * 1e6 / rate + 0.5)
        if arrival >= seconds * 1e6:
            return times
        times.append(arrival)
    raise AssertionError


def stand_in_line(arrives: Sequence[int], server: SimulatedServer) -> Outcome:
    """Return what becomes of requests that come at `arrives`, microseconds in order.

    A request that comes in the microsecond in which the worker gets idle is in its next batch, if the queue had room.
    """
    free, waiting, accepted, refused, batches = 0, deque(), [], [], []

    def begin():
        nonlocal free
        begins, size = max(free, waiting[0]), min(server.largest, len(waiting))
        free = begins + server.first + server.more * size
        accepted.extend((waiting.popleft(), begins, free) for _ in range(size))
        batches.append(size)

    for arrival in arrives:
        while waiting and max(free, waiting[0]) < arrival:
            begin()
        (waiting if len(waiting) < server.queue else refused).append(arrival)
    while waiting:
        begin()
    arrived, began, ended = zip(*accepted, strict=True) if accepted else ((), (), ())
    return Outcome(arrived, began, ended, tuple(refused), tuple(batches), server.deadline)
