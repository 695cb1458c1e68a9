"""Four ways to average gradients, as processes that take turns: a parameter server, shards of it, a ring, a tree."""

from collections import Counter
from collections.abc import Iterator, Sequence

from course.scale.costs import Costs
from course.scale.events import Process, Receive, Send, Work


def worker(rank: int, shards: Sequence[int], costs: Costs, compute: Iterator[float]) -> Process:
    """Compute a gradient, push its parts to all `shards`, wait for all answers, and again; without end.

    `rank`: the number of this process, by which it is answered.
    """
    work = 0.0
    while True:
        work += next(compute)
        for shard in shards:
            yield Work(work + costs.message)
            yield Send(shard, (rank, True))
            work = 0.0
        for _ in shards:
            yield Receive()
            work += costs.message


def coordinator(
    followers: Sequence[int], costs: Costs, part: float, aggregate: int, gradients: int, applied: list[float]
) -> Process:
    """Shard 0: an update is made of `aggregate` gradients, and is told to the `followers`; ends after `gradients`.

    `part`: bytes of a gradient here. `applied`: gets the second of each gradient's update. A push is whole when every
    follower has reported its part.
    """
    parts, whole, third = Counter[int](), [], part * costs.byte / 3
    # a push that is decided at once is answered by the thread that took it; the others' threads sleep until they may
    answer = costs.message + third + (costs.switch if followers or aggregate > 1 else 0.0)
    while len(applied) < gradients:
        rank, pushed = yield Receive()
        yield Work(costs.message + (third if pushed else 0.0))
        parts[rank] += 1
        if parts[rank] <= len(followers):
            continue
        del parts[rank]
        whole.append(rank)
        if len(whole) == aggregate:
            for shard in followers:
                yield Work(costs.message)
                yield Send(shard, (tuple(whole), False))
            now = yield Work(len(whole) * third)
            for rank in whole:
                yield Work(answer)
                yield Send(rank)
                applied.append(now)
            whole = []


def follower(coordinator: int, costs: Costs, part: float) -> Process:
    """Another shard: report each part of a push to the `coordinator`, apply and answer what it has ordered."""
    third = part * costs.byte / 3
    while True:
        rank, pushed = yield Receive()
        if pushed:
            yield Work(2 * costs.message + third)
            yield Send(coordinator, (rank, False))
        else:
            yield Work(costs.message + len(rank) * third)
            for each in rank:
                yield Work(costs.message + third + costs.switch)
                yield Send(each)


def ring_rank(rank: int, size: int, costs: Costs, nbytes: float, compute: Sequence[float], applied: list) -> Process:
    """Compute a gradient, add it up in a ring of `size` ranks: 2·(`size` − 1) messages of 1/`size` of the bytes.

    As many rounds as there are seconds in `compute`; `applied` gets the second of the end of each.
    """
    one = costs.message + nbytes / size * costs.byte
    for seconds in compute:
        work = seconds
        for _ in range(2 * (size - 1)):
            yield Work(work + one)
            yield Send((rank + 1) % size)
            yield Receive()
            work = one
        applied.append((yield Work(work)))


def tree_rank(rank: int, size: int, costs: Costs, nbytes: float, compute: Sequence[float], applied: list) -> Process:
    """Compute a gradient, add the children's to it, pass the sum to the parent, the parent's answer to the children.

    A binary tree of `size` ranks: rank r has the children 2r + 1 and 2r + 2; every message has all bytes.
    """
    one = costs.message + nbytes * costs.byte
    children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < size]
    for seconds in compute:
        yield Work(seconds)
        work = 0.0
        for _ in children:
            yield Receive()
            yield Work(one)
        if rank:
            yield Work(one)
            yield Send((rank - 1) // 2)
            yield Receive()
            work = one
        for child in children:
            yield Work(work + one)
            yield Send(child)
            work = 0.0
        applied.append((yield Work(work)))
