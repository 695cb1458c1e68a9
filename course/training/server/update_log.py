"""The one order of a training: what shard 0 decided, entry by entry, so that every shard does exactly the same."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class PushId(NamedTuple):
    """Which push: the worker, the session it runs in (one life of its process), and its number in that session.

    Where it names a connection, the number is that of the session's attempt to connect.
    """

    worker: int
    session: str
    sequence: int


@dataclass(frozen=True)
class Entry:
    """One entry of the log; the store is at `version` when all of it has been done, in the order of the fields.

    - `used`: the pushes whose mean is applied, in worker order; `dropped`: those that came too late. Their workers are
      answered, as are the `joined`, by the connection that is named: what they had staged before is void.
    - `cut`: (number, whether with the optimiser's state) of a copy to be kept for the driver. `ended`: why it is over.
    """

    version: int
    used: tuple[PushId, ...] = ()
    dropped: tuple[PushId, ...] = ()
    joined: tuple[PushId, ...] = ()
    cut: tuple[int, bool] | None = None
    ended: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Entry":
        """Return the entry that `as_json` wrote; raises KeyError or TypeError for other data."""
        ids = {key: tuple(PushId(*one) for one in fields[key]) for key in ("used", "dropped", "joined")}
        return cls(fields["version"], **ids, cut=fields["cut"], ended=fields["ended"])

    def as_json(self) -> dict[str, Any]:
        """Return the entry as data that JSON can hold."""
        return asdict(self)
