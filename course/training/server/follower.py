"""Every shard but shard 0: it keeps its parts of pushes until shard 0's log says what becomes of them.

Both ends are here: what a follower does with the log (`Follower`), and shard 0's connections to one (`FollowerLink`).
"""

import ssl
import threading
from collections.abc import Callable
from typing import Any

import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.records import TrainingSettings
from course.training.server.coordinator import optimizer_failed, refusal, state_of
from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.server.rules import mean_of
from course.training.server.store import ParameterServer
from course.training.server.update_log import Entry, PushId
from course.training.transport.wire import connect


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
        self._cuts: dict[int, Snapshot] = {}

    def admit(self, worker: int, session: str) -> None:
        """Raise ValueError for an unknown worker; whether its process was replaced, shard 0 knows."""
        self.slots.check(worker)

    def join(self, worker: int, session: str, into: dict[str, torch.Tensor], attempt: int) -> ReplySlot:
        """Return a new reply slot of `worker`, whose answers go `into` these tensors; shard 0's log answers it."""
        with self.slots.changed:
            return self.slots.occupy(ReplySlot(worker, session, attempt, into))

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
                number, full = entry.cut
                self._cuts = {number: state_of(self.store, full, self.incarnation, self.settings.seed, {})}
                self.slots.changed.notify_all()

    def wait_for_cut(self, number: int, seconds: float) -> Snapshot:
        """Wait until the log has come to this cut, and return its `Snapshot`; TimeoutError after `seconds`."""
        with self.slots.changed:
            if not self.slots.changed.wait_for(lambda: number in self._cuts, seconds):
                raise TimeoutError(f"cut {number} has not come after {seconds:.0f} s.")
            return self._cuts.pop(number)

    def leave(self, slot: ReplySlot, reason: str, silent: bool) -> None:
        """Free the slot and tell shard 0, which decides: its worker may wait there for a part that never came here."""
        with self.slots.changed:
            lost = self.slots.release(slot) and not self.slots.ended
        if lost and self.report is not None:
            self._tell({"left": slot.connection})

    def poll(self, since: int, events: int) -> tuple[dict[str, Any], list]:
        """Return (status, no records): records are shard 0's."""
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


class FollowerLink:
    """Shard 0's two connections to the follower at `address`: the log goes out on one, reports come in on the other.

    `handshake` says which training. Sending never raises: `listen`, in its own thread, says when the follower is gone.
    """

    def __init__(self, address: tuple[str, int], handshake: dict[str, Any], context: ssl.SSLContext | None = None):
        self._log = connect(address, {**handshake, "role": "log"}, context)
        try:
            self._reports = connect(address, {**handshake, "role": "reports"}, context)
        except BaseException:
            self._log.close()
            raise
        self._sending = threading.Lock()

    def send_entry(self, entry: Entry) -> None:
        """Send one `Entry` of the log."""
        self._send("ENTR", entry.as_json())

    def listen(
        self, staged: Callable[[PushId], None], left: Callable[[PushId], None], ended: Callable[..., None]
    ) -> None:
        """Call `staged(PushId)` or `left(PushId)` for each report, `ended(why=…, text=…)` when training must end."""
        try:
            while True:
                report = self._reports.receive().text()
                if not isinstance(report, dict):
                    staged(PushId(*report))
                elif "left" in report:
                    left(PushId(*report["left"]))
                else:
                    ended(**report)
        except (OSError, ValueError, TypeError) as error:
            ended(why="shard", text=f"shard 0 and it have lost each other: {error}")
        finally:
            self.hang_up()
            with self._sending:
                self._log.close()
            self._reports.close()

    def send_heartbeat(self) -> None:
        """Say that shard 0 is there."""
        self._send("BEAT", {})

    def hang_up(self) -> None:
        """End both connections, which wakes `listen`. Idempotent."""
        self._log.hang_up()
        self._reports.hang_up()

    def _send(self, kind, payload):
        with self._sending:
            try:
                self._log.send(kind, payload=payload)
            except (OSError, ValueError):  # ValueError: the connection was closed here
                self.hang_up()  # wakes `listen`, which ends the training; this thread holds the shard's lock
