"""What the threads of every shard but shard 0 share: parts of pushes that wait for their place in shard 0's order."""

import threading

from course.training.server.coordinator import state_of
from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.server.rules import mean_of
from course.training.server.store import NonFiniteError
from course.training.server.update_log import Entry, PushId
from course.training.transport.wire import HEARTBEAT, connect


class Follower:
    """Stages its part of each push, says so to shard 0, and applies exactly what shard 0's order says, when it says so.

    `report`: called with the `PushId` of each staged part, with `{"left": PushId}` of each connection that was lost,
    and with a dict that says why training must end; set when shard 0 has come.
    """

    def __init__(self, store, settings, incarnation=0):
        self.store, self.settings, self.incarnation = store, settings, incarnation
        self.slots, self.report = ReplySlots(settings.workers), None
        self._staged, self._cuts = {}, {}  # PushId -> gradients; number -> Snapshot

    def admit(self, worker, session):
        """Raise ValueError for an unknown worker; whether it was replaced, shard 0 knows."""
        self.slots.check(worker)

    def join(self, worker, session, into, attempt=0):
        """Seat `worker`; shard 0's order answers it."""
        with self.slots.changed:
            slot = ReplySlot(worker, session, attempt, into)
            self.slots.occupy(slot)
            return slot

    def push(self, slot, sequence, loss, gradients, acknowledged=0):
        """Stage this part of a push. The gradients are not copied: the worker sends no more until it is answered."""
        try:
            self.store.check(gradients, slot.version)
        except NonFiniteError as error:
            return self.report({"why": "not finite", "text": error.tensor, "version": error.version})
        except ValueError as error:
            return self.report({"why": "error", "text": f"worker {slot.worker}: {error}"})
        push = PushId(slot.worker, slot.session, sequence)
        with self.slots.changed:
            if slot.replaced:
                return None
            self._staged[push] = gradients
        return self.report(push)

    def note_counts(self, slot, sent, acknowledged):
        """Nothing: shard 0 counts."""

    def follow(self, entry):
        """Do what one `Entry` of shard 0's order says; raises ValueError when we can't have the same as shard 0."""
        with self.slots.changed:
            if entry.used:
                gradients = [self._part(push) for push in entry.used]
                self.store.apply(mean_of(gradients), self.store.version)
            if self.store.version != entry.version:
                raise ValueError(f"shard 0 is at version {entry.version}, this shard at {self.store.version}")
            for push in entry.dropped:
                self._staged.pop(push, None)
            joined = {who.worker for who in entry.joined}
            for push in [push for push in self._staged if push.worker in joined]:
                del self._staged[push]
            self.slots.answer(entry, self.store)
            if entry.cut is not None:
                number, full = entry.cut
                self._cuts = {number: state_of(self.store, full, self.incarnation, self.settings.seed)}
                self.slots.changed.notify_all()
            if entry.ended is not None:
                self.slots.end(**entry.ended)

    def wait_for_cut(self, number, patience):
        """Wait until the order has come to this cut, and return its `Snapshot`; TimeoutError after `patience` s."""
        with self.slots.changed:
            if not self.slots.changed.wait_for(lambda: number in self._cuts, patience):
                raise TimeoutError(f"cut {number} has not come after {patience:.0f} s.")
            return self._cuts.pop(number)

    def leave(self, slot, reason, silent=False):
        """Free the seat and tell shard 0, which decides: its worker may wait there for what never came here."""
        with self.slots.changed:
            lost = self.slots.release(slot) and not self.slots.ended
        if lost and self.report is not None:
            self.report({"left": PushId(slot.worker, slot.session, slot.attempt)})

    def poll(self, since=0, events=0):
        """Return (status, no records): those are shard 0's."""
        with self.slots.changed:
            return {"version": self.store.version, "incarnation": self.incarnation, "ended": self.slots.ended}, []

    def end(self, why, text="", **more):
        """End the training here, as far as we know: shard 0 is gone, or the session."""
        with self.slots.changed:
            self.slots.end(why, text, **more)

    def _part(self, push):
        if push not in self._staged:
            raise ValueError(f"shard 0's order names a push that never came here: {push}")
        return self._staged.pop(push)


class FollowerLink:
    """Two connections to the shard at `address`, one for each direction; `handshake` says which training.

    `tell` never raises: when the other shard is gone, `listen`, which runs in a thread of its own, ends and says so.
    """

    def __init__(self, address, handshake, context=None):
        self._orders = connect(address, {**handshake, "role": "orders"}, context)
        try:
            self._reports = connect(address, {**handshake, "role": "reports"}, context)
        except BaseException:
            self._orders.close()
            raise
        self._sending = threading.Lock()

    def tell(self, entry):
        """Send one `Entry` of the order."""
        self._send("ORDR", entry.as_json())

    def listen(self, staged, left, ended):
        """Call `staged(PushId)` or `left(PushId)` for each report, `ended(why=…, text=…)` when training must end."""
        try:
            while True:
                told = self._reports.receive().text()
                if isinstance(told, dict) and "left" in told:
                    left(PushId(*told["left"]))
                elif isinstance(told, dict):
                    ended(**told)
                else:
                    staged(PushId(*told))
        except (OSError, ValueError, TypeError) as error:
            ended(why="shard", text=f"shard 0 and it have lost each other: {error}")
        finally:
            self.hang_up()
            with self._sending:
                self._orders.close()
            self._reports.close()

    def send_heartbeat(self):
        """Say that shard 0 is there."""
        self._send("BEAT", {})

    def hang_up(self):
        """End both connections, which wakes `listen`. Idempotent."""
        self._orders.hang_up()
        self._reports.hang_up()

    def _send(self, kind, payload):
        with self._sending:
            try:
                self._orders.send(kind, payload=payload)
            except (OSError, ValueError):  # ValueError: the connection was closed here
                self.hang_up()  # wakes `listen`, which ends the training; whoever tells holds the shard's lock


class Reporter:
    """The other end of the reports: what a follower's threads tell shard 0."""

    def __init__(self, channel):
        self._channel, self._sending = channel, threading.Lock()

    def __call__(self, told):
        """Send a `PushId`, or a dict (see `Follower`). Raises OSError when shard 0 is gone."""
        with self._sending:
            self._channel.send("TOLD", payload=told)

    def send_heartbeats_until(self, over):
        """Beat until the event `over` is set, or shard 0 is gone."""
        while not over.wait(HEARTBEAT):
            with self._sending:
                self._channel.send("BEAT")


def follow_orders(channel, follow):
    """Call `follow(entry)` for each entry that comes; raises OSError when shard 0 falls silent."""
    while True:
        follow(Entry.from_json(channel.receive().text()))
