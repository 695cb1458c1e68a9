"""The copies that hooks have ordered: of every so many-th version, from its update until the hooks were told of it."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace

import numpy

from course.training.checkpoint.snapshot import Applied, Snapshot
from course.training.server.store import ParameterServer

#: So many versions may training be ahead of the oldest copy that no hook has been told of: then it waits.
AHEAD = 1000
#: … or so many bytes of parameters in such copies, over all shards; two copies are kept in any case.
COPIES_NBYTES = 256 << 20


class Copy:
    """The state of `store` at the moment that this is made, or, not `full`, its parameters alone.

    `number`: of its cut, by which all shards keep their parts of it. `room`: arrays to copy into, where there are any.
    """

    __slots__ = ("number", "_store", "_version", "copies", "_incarnation", "_seed", "_state")

    def __init__(
        self,
        number: int,
        store: ParameterServer,
        full: bool,
        room: list[numpy.ndarray],
        incarnation: int,
        seed: int,
        applied: dict[str, Applied],
    ):
        self.number = number
        self._store, self._version = store, store.version
        self._incarnation, self._seed = incarnation, seed
        self._state = replace(store.state(), applied=dict(applied)) if full else None
        self.copies = None if full else store.copied(room.pop() if room else None)

    def snapshot(self) -> Snapshot:
        """Return the `Snapshot`: to make it takes longer than to copy."""
        state = self._state
        if state is None:
            assert self.copies is not None
            state = Snapshot(self._version, self._store.named(self.copies))
        return replace(state, incarnation=self._incarnation, seed=self._seed)


class OrderedCopies:
    """A shard's copies, in the order of their keys: versions on shard 0, cuts' numbers on the others. Needs its lock.

    Without orders there are none on shard 0. `room`: the arrays of copies that were dropped, for the next ones.
    """

    def __init__(self) -> None:
        self._orders: list[tuple[int, bool]] = []
        self._most = 0
        self._copies = OrderedDict[int, Copy]()  # a dict walks over all that was ever dropped to find its first
        self.room: list[numpy.ndarray] = []

    def order(self, orders: Iterable[tuple[int, bool]], nbytes: int) -> None:
        """Keep from now on what these orders say, and drop what was kept for others.

        An order is (every so many-th version, whether with the optimiser's state). `nbytes`: of all parameters.
        """
        self._orders, self._most = [(every, full) for every, full in orders], max(2, COPIES_NBYTES // max(1, nbytes))
        self._copies.clear()
        self.room.clear()

    def due(self, version: int) -> bool | None:
        """Return whether the copy of `version` is to have the optimiser's state; None where none is ordered."""
        due = None
        for every, full in self._orders:
            if version % every == 0:
                due = due or full
        return due

    def keep(self, key: int, copy: Copy) -> None:
        """Keep this copy."""
        self._copies[key] = copy

    def __contains__(self, key: int) -> bool:
        return key in self._copies

    def take(self, key: int) -> Copy | None:
        """Return a copy, and keep it no longer; None where it was not kept."""
        return self._copies.pop(key, None)

    def release(self, key: int) -> bool:
        """Drop the copies up to this one, which nobody needs any more; return whether there were any."""
        dropped = []
        while self._copies and next(iter(self._copies)) <= key:
            dropped.append(self._copies.pop(next(iter(self._copies))))
        self.room += [copy.copies for copy in dropped if isinstance(copy.copies, numpy.ndarray)]
        return bool(dropped)

    def oldest(self, otherwise: int) -> int:
        """Return the number of the oldest copy's cut, or `otherwise` where no copy is kept."""
        return next(iter(self._copies.values())).number if self._copies else otherwise

    def are_full(self, version: int) -> bool:
        """Whether training, at `version`, has to wait for the hooks."""
        if not self._copies:
            return False
        return version - next(iter(self._copies)) >= AHEAD or len(self._copies) >= self._most
