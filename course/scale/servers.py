"""A parameter server and its shards, as threads that take turns: what `course.training` does, in simulated seconds."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from course.scale.events import Process, Receive, Send, Work
from course.scale.message_costs import Costs


def served(
    workers: int, shards: int, aggregate: int, costs: Costs, nbytes: float, compute: Iterator[float], gradients: int
) -> tuple[list[Process], list[int], list[float]]:
    """Return (processes, the program of each, a list that gets the second of each gradient's update) for `events.run`.

    Process 0 ends when `gradients` are applied, `aggregate` of them an update. The others: the workers; a thread of
    each shard for each worker; for each shard but the first a thread of the first that hears from it, and one of its
    own that hears from the first.
    """
    applied: list[float] = []
    part = nbytes / shards
    threads = [range(1 + workers * shard, 1 + workers * (shard + 1)) for shard in range(1, shards + 1)]
    hearing = range(1 + workers * (1 + shards), workers * (1 + shards) + shards)
    logs = range(hearing.stop, hearing.stop + shards - 1)
    first = Coordinator(threads[0], logs, costs, part, aggregate, gradients, applied)
    processes = [driver(), *(worker([mine[rank] for mine in threads], costs, compute) for rank in range(workers))]
    for shard in range(shards):
        for rank in range(workers):
            taken = partial(first.has_part, rank) if not shard else partial(report, hearing[shard - 1], rank, costs)
            processes.append(worker_thread(1 + rank, costs, part, taken))
    processes += [first.hears() for _ in hearing]
    processes += [log_thread(mine, costs, part) for mine in threads[1:]]
    servers = range(1 + workers, 1 + workers + shards)  # programs
    programs = [*range(1 + workers), *(server for server in servers for _ in range(workers))]
    return processes, [*programs, *(servers[0] for _ in hearing), *servers[1:]], applied


def driver() -> Process:
    """Wait until enough gradients are applied."""
    yield Receive()


def worker(threads: Sequence[int], costs: Costs, compute: Iterator[float]) -> Process:
    """Compute a gradient, push a part to each shard's thread, wait for all answers, and again; without end."""
    work = 0.0
    while True:
        work += next(compute)
        for thread in threads:
            yield Work(work + costs.message)
            yield Send(thread)
            work = 0.0
        for _ in threads:
            yield Receive()
            work += costs.message


def worker_thread(worker: int, costs: Costs, part: float, taken: Callable[[], Process]) -> Process:
    """A shard's thread for one worker: take in its part of a push, sleep until it is decided, answer; without end.

    `part`: bytes of it. `taken`: what to do when it has arrived.
    """
    while True:
        yield Receive()
        yield Work(costs.message + part * costs.byte / 3)
        yield from taken()
        yield Receive()
        yield Work(costs.message)
        yield Send(worker)


@dataclass
class Coordinator:
    """What the threads of shard 0 share: an update is made of `aggregate` gradients and sent to the `logs`.

    `threads`: its own, by worker. `part`: bytes of a gradient here. `applied`: gets the second of each gradient's
    update; after `gradients` of them process 0 gets a message.
    """

    threads: Sequence[int]
    logs: Sequence[int]
    costs: Costs
    part: float
    aggregate: int
    gradients: int
    applied: list[float]
    _parts: Counter[int] = field(default_factory=Counter)
    _whole: list[int] = field(default_factory=list)

    def has_part(self, rank: int) -> Process:
        """Note that a shard has its part of worker `rank`'s push; make the update if this part completes it."""
        self._parts[rank] += 1
        if self._parts[rank] <= len(self.logs):
            return
        del self._parts[rank]
        self._whole.append(rank)
        if len(self._whole) < self.aggregate:
            return
        whole, self._whole = self._whole, []
        for log in self.logs:
            yield Work(self.costs.message)
            yield Send(log, whole)
        updated = yield Work(2 * len(whole) * (self.part * self.costs.byte / 3))  # added up, copied into each answer
        for rank in whole:
            yield Send(self.threads[rank])
            self.applied.append(updated)
        if len(self.applied) >= self.gradients:
            yield Send(0)

    def hears(self) -> Process:
        """The thread that another shard tells which parts it has."""
        while True:
            rank = yield Receive()
            yield Work(self.costs.message)
            yield from self.has_part(rank)


def report(hearing: int, rank: int, costs: Costs) -> Process:
    """Another shard tells shard 0's thread `hearing` that it has a part of worker `rank`'s push."""
    yield Work(costs.message)
    yield Send(hearing, rank)


def log_thread(threads: Sequence[int], costs: Costs, part: float) -> Process:
    """Another shard's thread that applies what shard 0 has ordered, and wakes the `threads` that answer."""
    while True:
        whole = yield Receive()
        yield Work(costs.message + 2 * len(whole) * part * costs.byte / 3)
        for rank in whole:
            yield Send(threads[rank])
