"""What shard 0 decided, entry by entry, so that every shard does exactly the same; and its table of pushes.

By the table a push that comes twice is applied once.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from course.training.checkpoint.snapshot import Applied
from course.training.server.rules import Push


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
    - `cut`: (number, whether with the optimiser's state, the oldest number that may still be taken) of a copy to be
      kept for the driver. `ended`: why it is over.
    """

    version: int
    used: tuple[PushId, ...] = ()
    dropped: tuple[PushId, ...] = ()
    joined: tuple[PushId, ...] = ()
    cut: tuple[int, bool, int] | None = None
    ended: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Entry":
        """Return the entry that `as_json` wrote; raises KeyError or TypeError for other data."""
        ids = {key: tuple(PushId(*push) for push in fields[key]) for key in ("used", "dropped", "joined")}
        return cls(fields["version"], **ids, cut=fields["cut"], ended=fields["ended"])

    def as_json(self) -> dict[str, Any]:
        """Return the entry as data that JSON can hold."""
        return asdict(self)


class PushTable:
    """Shard 0's account of every worker's session; threads that share one hold a lock.

    `applied`: session's id to `Applied`, as a snapshot keeps it; the table goes on from it.
    """

    def __init__(self, applied: dict[str, Applied] | None = None):
        self.applied = dict(applied or {})
        self._reported: dict[str, tuple[int, int]] = {}  # session -> (sent, acknowledged), as the worker last said

    def open(self, session: str, worker: int) -> None:
        """Begin the account of a session of `worker`; one that is there already goes on."""
        self.applied.setdefault(session, Applied(worker, 0, 0, 0))

    def last(self, session: str) -> int:
        """Return the sequence number of the session's last push that was applied or dropped; 0 before the first."""
        return self.applied[session].last

    def note(self, push: Push, applied: int = 0, dropped: int = 0) -> None:
        """Note that this push was applied (1), or dropped (1)."""
        before = self.applied[push.session]
        counts = before.applied + applied, before.dropped + dropped
        self.applied[push.session] = Applied(push.worker, push.sequence, *counts)

    def note_reported(self, session: str, sent: int, acknowledged: int) -> None:
        """Note a worker's own counts: pushes sent, and pushes that it knows were applied or dropped."""
        # the larger: what an older connection had on its way may come after what was said on the next
        counts = sent, acknowledged
        self._reported[session] = max(self._reported.get(session, counts), counts)

    def counts(self) -> dict[str, Counter[int]]:
        """Return what became of the pushes in this history: "sent", "acknowledged", "applied", "dropped" by worker."""
        counts: dict[str, Counter[int]] = {name: Counter() for name in ("sent", "acknowledged", "applied", "dropped")}
        for session, (worker, last, applied, dropped) in self.applied.items():
            sent, acknowledged = self._reported.get(session, (last, 0))
            counts["sent"][worker] += max(sent, last)
            counts["acknowledged"][worker] += acknowledged
            counts["applied"][worker] += applied
            counts["dropped"][worker] += dropped
        return counts
