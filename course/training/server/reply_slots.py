"""Where a shard puts its answers to workers: a reply slot for each worker, one lock, one way to wake threads."""

import threading
import time
from collections.abc import Callable
from typing import Any

import torch

from course.training.records import NonFiniteError, in_words
from course.training.server.store import ParameterServer
from course.training.server.update_log import Entry, PushId
from course.training.transport.wire import WIRE_HEARTBEAT_EVERY, Channel


class ReplySlot:
    """One worker's place for answers on a shard, for as long as one connection of it lasts: its session's `attempt`-th.

    `into`: name to tensor, where answers are put; `channel`: the connection whose next frame they are. `answered`: the
    version of the answer that lies there, None while there is none; `version`: that of the answer which was sent last,
    −1 before the first. `taken`: the sequence number of the worker's last push that was applied or dropped, as of the
    answer. `joined`: whether shard 0's order has named this connection; `replaced`: whether another one has its place.
    `at_once`: an answer is sent in the thread that has decided it, as long as the push reader reads this connection;
    otherwise the connection's own thread waits for it (`ReplySlots.wait`), and sends it.
    """

    def __init__(
        self, worker: int, session: str, attempt: int, into: dict[str, torch.Tensor], channel: Channel | None = None
    ):
        self.worker, self.session, self.attempt, self.into = worker, session, attempt, into
        self.channel: Any = channel  # None only where nothing is sent: in tests of the decisions alone
        self.answered: int | None = None
        self.version = -1
        self.taken, self.joined, self.replaced, self.at_once = 0, False, False, False

    @property
    def connection(self) -> PushId:
        """Which connection has the slot."""
        return PushId(self.worker, self.session, self.attempt)

    def put(self, version: int) -> None:
        """Take the answer of this version, which lies in `into`: send it at once, or keep it for the own thread."""
        if not self.at_once:
            self.answered = version
            return
        self.version, self.channel.unread_since = version, time.monotonic()
        try:
            self.send_answer()  # a short frame, for which a worker that waits has room
        except (OSError, ValueError):
            self.channel.hang_up()  # which the push reader reads as the connection's end

    def send_answer(self) -> None:
        """Send the answer that lies in `into`, as that of `version`. Raises OSError."""
        self.channel.send_tensors("PARM", self.version, sequence=self.taken)


class ReplySlots:
    """The reply slots of a shard. `changed` is the shard's lock; what is said here to need the lock needs it held."""

    def __init__(self, workers: int):
        self.workers, self.changed = workers, threading.Condition()
        #: None while training goes on; then {"why": …, "text": …, …}
        self.ended: dict[str, Any] | None = None
        #: Set once it has ended.
        self.over = threading.Event()
        #: Called where training ends, or a connection loses its slot.
        self.on_over: Callable[[], None] = lambda: None
        self._slots: dict[int, ReplySlot] = {}  # by worker

    def check(self, worker: int) -> None:
        """Raise ValueError for a number that no worker of this training has."""
        if worker not in range(self.workers):
            raise ValueError(f"worker {worker} is not one of this training; workers are 0 to {self.workers - 1}.")

    def occupy(self, slot: ReplySlot) -> ReplySlot:
        """Give the worker this slot, and return it; an older connection of it loses its own. Needs the lock."""
        before = self._slots.get(slot.worker)
        if before is not None:
            before.replaced = True
            self._tell_over()
        self._slots[slot.worker] = slot
        return slot

    def release(self, slot: ReplySlot) -> bool:
        """Free the slot; return whether it was still the worker's. Needs the lock."""
        slot.replaced = True  # nothing more is accepted from its connection
        if self._slots.get(slot.worker) is not slot:
            return False
        del self._slots[slot.worker]
        return True

    def disconnect(self, connection: PushId) -> None:
        """End this connection, which another shard has lost; its worker has to come anew to all of them."""
        with self.changed:
            slot = self._slots.get(connection.worker)
            if slot is not None and slot.connection == connection:
                slot.replaced = True
                self._tell_over()

    def all(self) -> list[ReplySlot]:
        """Return the slots in use, by worker. Needs the lock."""
        return [self._slots[worker] for worker in sorted(self._slots)]

    def answer(self, entry: Entry, store: ParameterServer, taken: Callable[[str], int] | None = None) -> None:
        """Copy the store's parameters into the slots that this `Entry` answers, and wake their threads. Needs the lock.

        `taken`: from a session to the sequence number of its last push that was applied or dropped; None: no number
        is known here. A connection gets its first answer from the entry that names it as joined; until then, entries
        for an older connection of the same worker pass it by.
        """
        for connection in entry.joined:
            slot = self._slots.get(connection.worker)
            if slot is not None and slot.connection == connection:
                slot.joined = True
        for push in (*entry.used, *entry.dropped, *entry.joined):
            slot = self._slots.get(push.worker)
            if slot is not None and slot.joined and slot.session == push.session:
                slot.taken = taken(slot.session) if taken else 0
                if not (slot.at_once and self.ended):
                    slot.put(store.pull(slot.into).version)
        self.changed.notify_all()  # costs nothing where no thread waits

    def wait(self, slot: ReplySlot, send_heartbeat: Callable[[], None]) -> int | None:
        """Return the version of the slot's next answer; None when training is over. Call without the lock.

        `send_heartbeat` is called every 0.5 s. Raises ConnectionError when the worker has another connection, or must.
        """
        while not self._is_decided(slot):
            send_heartbeat()
        if slot.replaced:
            raise ConnectionError("the worker has come by another connection, or lost another shard.")
        if self.ended or slot.answered is None:
            return None
        slot.version, slot.answered = slot.answered, None
        return slot.version

    def _is_decided(self, slot):
        if slot.answered is not None:
            return True  # an answer does not go away: no lock for the common case
        if not self.changed.acquire(timeout=WIRE_HEARTBEAT_EVERY):
            return False  # an update or a snapshot of a large model holds the lock: say meanwhile that all is well
        try:
            return self.changed.wait_for(
                lambda: slot.answered is not None or self.ended or slot.replaced, WIRE_HEARTBEAT_EVERY
            )
        finally:
            self.changed.release()

    def end(self, why: str, text: str = "", **more: Any) -> bool:
        """End the training; the first reason is kept. Return whether this was it. Needs the lock."""
        if self.ended is not None:
            return False
        self.ended = {"why": why, "text": text, **more}
        self.over.set()
        self._tell_over()
        return True

    def _tell_over(self):
        self.changed.notify_all()
        self.on_over()


def refusal(store: ParameterServer, slot: ReplySlot, gradients: dict[str, torch.Tensor]) -> dict[str, Any] | None:
    """Return the end, as `ReplySlots.end` takes it, to which a push that the store can't apply leads; None without."""
    try:
        store.check(gradients, slot.version)
    except NonFiniteError as error:
        return {"why": "not finite", "text": error.tensor, "version": error.version}
    except ValueError as error:
        return {"why": "error", "text": f"worker {slot.worker}: {error}"}
    return None


def optimizer_failed(error: BaseException) -> str:
    """Return the reason for the end of a training whose optimiser raised `error` in its step."""
    return f"the optimiser raised {in_words(error)}"
