"""Two ways to average gradients without a server, as processes that take turns: a ring and a tree of ranks."""

from collections.abc import Sequence

from course.scale.events import Process, Receive, Send, Work
from course.scale.message_costs import Costs


def ring_rank(rank: int, size: int, costs: Costs, nbytes: float, compute: Sequence[float], applied: list) -> Process:
    """Compute a gradient, add it up in a ring of `size` ranks: 2·(`size` − 1) messages of 1/`size` of the bytes.

    As many rounds as there are seconds in `compute`; `applied` gets the second of the end of each.
    """
    message_seconds = costs.message + nbytes / size * costs.byte
    for seconds in compute:
        work = seconds
        for _ in range(2 * (size - 1)):
            yield Work(work + message_seconds)
            yield Send((rank + 1) % size)
            yield Receive()
            work = message_seconds
        applied.append((yield Work(work)))


def tree_rank(rank: int, size: int, costs: Costs, nbytes: float, compute: Sequence[float], applied: list) -> Process:
    """Compute a gradient, add the children's to it, pass the sum to the parent, the parent's answer to the children.

    A binary tree of `size` ranks: rank r has the children 2r + 1 and 2r + 2; every message has all bytes.
    """
    message_seconds = costs.message + nbytes * costs.byte
    children = [child for child in (2 * rank + 1, 2 * rank + 2) if child < size]
    for seconds in compute:
        yield Work(seconds)
        work = 0.0
        for _ in children:
            yield Receive()
            yield Work(message_seconds)
        if rank:
            yield Work(message_seconds)
            yield Send((rank - 1) // 2)
            yield Receive()
            work = message_seconds
        for child in children:
            yield Work(work + message_seconds)
            yield Send(child)
            work = 0.0
        applied.append((yield Work(work)))
