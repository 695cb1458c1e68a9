"""The edges of a program's graph: which op made what another op reads, found from the memory of their tensors."""

from collections.abc import Container, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Edge:
    """The op at `source` in a log made, or last wrote, what the op at `target` reads; both count from 0."""

    source: int
    target: int


def edges(ops: Iterable[tuple[list, list, bool]]) -> list[Edge]:
    """Return the `Edge`s of `ops`, in order: for each op `(reads, written, view)`.

    `reads` and `written` hold a pair `(storage, shape)` for each tensor, `storage` a number for the memory that its
    numbers lie in (0: unknown). A tensor's maker is the last op that gave this memory new numbers, or the view of it
    with the tensor's shape made since. Memory that was freed, and filled again by something that the log did not see,
    would be taken for its former owner's; within one program that torch runs, the log sees everything.
    """
    makers: dict[int, list[tuple[int, object]]] = {}
    joined: list[Edge] = []
    for index, (reads, written, view) in enumerate(ops):
        for storage, shape in reads:
            source = _maker(makers.get(storage), shape)
            if source is not None and Edge(source, index) not in joined[-len(reads) :]:
                joined.append(Edge(source, index))
        for storage, shape in written:
            if view and storage in makers:
                makers[storage].append((index, shape))
            elif storage:
                makers[storage] = [(index, shape)]
    return joined


def without_views(with_views: list[Edge], views: Container[int]) -> list[Edge]:
    """Return the edges without the ops in the set `views`: an op that reads a view reads what it is a view of."""
    behind = {edge.target: edge.source for edge in with_views if edge.target in views}

    def real(index):
        while index in views:
            index = behind.get(index)
        return index

    ends = ((real(edge.source), edge.target) for edge in with_views if edge.target not in views)
    return list(dict.fromkeys(Edge(source, target) for source, target in ends if source is not None))


def _maker(candidates, shape):
    """Return the last op that made this very shape of the memory, else the last that made any; None without one."""
    if not candidates:
        return None
    same = [index for index, made_shape in candidates if made_shape == shape]
    return (same or [index for index, _ in candidates])[-1]
