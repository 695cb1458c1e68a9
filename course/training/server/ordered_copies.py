"""The copies that hooks have ordered: of every so many-th version, from its update until the hooks were told of it."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from course.training.checkpoint.snapshot import Applied, Snapshot
from course.training.server.store import ParameterServer

#: So many versions may training be ahead of the oldest copy that no hook has been told of: then it waits.
AHEAD = 1000
#: … or so many bytes of parameters in such copies, over all shards; two copies are kept in any case.
COPIES_NBYTES = 256 << 20


class OrderedCopies:
    """Shard 0's copies, in the order of their versions; needs its lock. Without orders there are none.

    The number of a copy is that of its cut, by which the other shards keep their parts of it.
    """

    def __init__(self) -> None:
        self._orders: list[tuple[int, bool]] = []
        self._most = 0
        self._copies: dict[int, tuple[int, Callable[[], Snapshot]]] = {}  # by version

    def order(self, orders: Iterable[tuple[int, bool]], nbytes: int) -> None:
        """Keep from now on what these orders say, and drop what was kept for others.

        An order is (every so many-th version, whether with the optimiser's state). `nbytes`: of all parameters.
        """
        self._orders, self._most = [(every, full) for every, full in orders], max(2, COPIES_NBYTES // max(1, nbytes))
        self._copies.clear()

    def due(self, version: int) -> bool | None:
        """Return whether the copy of `version` is to have the optimiser's state; None where none is ordered."""
        full = [with_state for every, with_state in self._orders if version % every == 0]
        return any(full) if full else None

    def keep(self, version: int, number: int, copy: Callable[[], Snapshot]) -> None:
        """Keep this copy, whose cut has this number."""
        self._copies[version] = number, copy

    def take(self, version: int) -> tuple[int, Snapshot] | None:
        """Return (number, `Snapshot`) of a version, and keep it no longer; None where it was not kept."""
        if version not in self._copies:
            return None
        number, copy = self._copies.pop(version)
        return number, copy()

    def release(self, version: int) -> bool:
        """Drop the copies up to `version`, of which hooks were told; return whether there were any."""
        told = [each for each in self._copies if each <= version]
        for each in told:
            del self._copies[each]
        return bool(told)

    def oldest(self, otherwise: int) -> int:
        """Return the number of the oldest copy's cut, or `otherwise` where no copy is kept."""
        return next(iter(self._copies.values()))[0] if self._copies else otherwise

    def are_full(self, version: int) -> bool:
        """Whether training, at `version`, has to wait for the hooks."""
        if not self._copies:
            return False
        return version - next(iter(self._copies)) >= AHEAD or len(self._copies) >= self._most


def state_of(
    store: ParameterServer, full: bool, incarnation: int, seed: int, applied: dict[str, Applied]
) -> Callable[[], Snapshot]:
    """Copy the store's state, or, not `full`, its parameters alone; return what makes the `Snapshot` of the copies."""
    if full:
        state = replace(store.state(), incarnation=incarnation, seed=seed, applied=dict(applied))
        return lambda: state
    copied = store.copied()
    return lambda: Snapshot(*copied(), incarnation=incarnation, seed=seed)
