"""Every shard but shard 0: it keeps its parts of pushes until shard 0's log says what becomes of them."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.records import TrainingSettings
from course.training.server.ordered_copies import Copy, OrderedCopies
from course.training.server.reply_slots import ReplySlot, ReplySlots, optimizer_failed, refusal
from course.training.server.rules import mean_of
from course.training.server.store import ParameterServer
from course.training.server.update_log import Entry, PushId


class Follower:
    """Stages its part of each push, reports it to shard 0, and applies what shard 0's log says, entry by entry.

    `report`: called with the `PushId` of each staged part, with `{"left": PushId}` of each connection that was lost,
    and with a dict that says why training must end; None until shard 0 has come.
    """

    def __init__(self, store: ParameterServer, settings: TrainingSettings, incarnation: int):
        self.store, self.settings, self.incarnation = store, settings, incarnation
        self.slots = ReplySlots(settings.workers)
        self.report: Callable[[PushId | dict[str, Any]], None] | None = None
        self._staged: dict[PushId, dict[str, torch.Tensor]] = {}
        self._copies = OrderedCopies()

    def admit(self, worker: int, session: str) -> None:
        """Raise ValueError for an unknown worker; whether its process was replaced, shard 0 knows."""
        self.slots.check(worker)

    def refuse(self, worker: int, reason: str) -> None:
        """Nothing: a worker tells shard 0."""

    def join(self, slot: ReplySlot) -> ReplySlot:
        """Give the worker this new reply slot, and return it; shard 0's log answers it."""
        with self.slots.changed:
            return self.slots.occupy(slot)

    def push(
        self, slot: ReplySlot, sequence: int, loss: float, gradients: dict[str, torch.Tensor], acknowledged: int
    ) -> None:
        """Stage this part of a push. The gradients are not copied: the worker sends no more until it is answered."""
        refused, push = refusal(self.store, slot, gradients), PushId(slot.worker, slot.session, sequence)
        with self.slots.changed:
            if slot.replaced and not refused:
                return
            if not refused:
                self._staged[push] = gradients
        self._tell(refused or push)

    def note_counts(self, slot: ReplySlot, sent: int, acknowledged: int) -> None:
        """Nothing: shard 0 counts."""

    def follow(self, entry: Entry) -> None:
        """Do what one `Entry` of shard 0's log says; raises ValueError when the state here can't be shard 0's."""
        with self.slots.changed:
            if entry.used:
                gradients = [self._part(push) for push in entry.used]
                if not self._applied(mean_of(gradients, self.store.spare)):
                    return
            if self.store.version != entry.version:
                raise ValueError(f"shard 0 is at version {entry.version}, this shard at {self.store.version}")
            for push in entry.dropped:
                self._staged.pop(push, None)
            joined = {connection.worker for connection in entry.joined}
            for push in [push for push in self._staged if push.worker in joined]:
                del self._staged[push]
            if entry.ended is not None:
                self.slots.end(**entry.ended)
            self.slots.answer(entry, self.store)
            if entry.cut is not None:
                number, full, oldest = entry.cut
                self._copies.release(oldest - 1)
                which = self.incarnation, self.settings.seed, {}
                self._copies.keep(number, Copy(number, self.store, full, self._copies.room, *which))
                self.slots.changed.notify_all()

    def wait_for_cut(self, number: int, seconds: float) -> Snapshot:
        """Wait until the log has come to this cut, and return its `Snapshot`; TimeoutError after `seconds`."""
        with self.slots.changed:
            if not self.slots.changed.wait_for(lambda: number in self._copies, seconds):
                raise TimeoutError(f"cut {number} has not come after {seconds:.0f} s.")
            copy = self._copies.take(number)
        assert copy is not None  # the driver alone takes them
        return copy.snapshot()

    def order_copies(self, orders: Iterable[tuple[int, bool]], nbytes: int) -> None:
        """Drop what was kept for other orders: what is to be kept, shard 0's log says."""
        with self.slots.changed:
            self._copies.order([], nbytes)

    def leave(self, slot: ReplySlot, reason: str, silent: bool) -> None:
        """Free the slot and tell shard 0, which decides: its worker may wait there for a part that never came here."""
        with self.slots.changed:
            lost = self.slots.release(slot) and not self.slots.ended
        if lost and self.report is not None:
            self._tell({"left": slot.connection})

    def poll(self, since: int, events: int, told: int = 0) -> tuple[dict[str, Any], list]:
        """Return (status, no records): records, and copies that are no longer needed, are shard 0's."""
        with self.slots.changed:
            return {"version": self.store.version, "incarnation": self.incarnation, "ended": self.slots.ended}, []

    def end(self, why: str, text: str = "", **more: Any) -> None:
        """End the training here, as far as this shard knows: shard 0 is gone, or the driver."""
        with self.slots.changed:
            self.slots.end(why, text, **more)

    def _tell(self, report):
        if self.report is None:
            raise ConnectionError("shard 0 has not come yet.")
        self.report(report)

    def _applied(self, gradients):
        """Apply an update; where the optimiser, the reader's, raises anything, end the training and return False."""
        try:
            self.store.apply(gradients, self.store.version)
            return True
        except BaseException as error:  # SystemExit too: this thread would end without a word
            self.slots.end("error", optimizer_failed(error))
            self._tell(self.slots.ended)
            return False

    def _part(self, push):
        if push not in self._staged:
            raise ValueError(f"shard 0's order names a push that never came here: {push}")
        return self._staged.pop(push)
