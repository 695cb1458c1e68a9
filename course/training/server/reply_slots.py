"""Where workers wait for their answers on one shard: a seat a worker, one lock, one way to wake them."""

import threading

from course.training.transport.wire import HEARTBEAT


class ReplySlot:
    """One worker's place on a shard, as long as one connection of it lasts: its session's `attempt`-th.

    `into`: name to tensor, where its answers are put. `answered`: the version of the answer that lies there, None
    while there is none; `taken`: the sequence number of its last push that was taken, as of that answer.
    """

    def __init__(self, worker, session, attempt, into):
        self.worker, self.session, self.attempt, self.into = worker, session, attempt, into
        self.answered, self.taken, self.version = None, 0, None
        self.joined, self.replaced = False, False


class ReplySlots:
    """The seats of a shard. `changed` is the shard's lock; whatever is said here to need it, needs it held."""

    def __init__(self, workers):
        self.workers, self.changed, self.ended = workers, threading.Condition(), None
        self._taken = {}  # worker -> its seat

    def check(self, worker):
        """Raise ValueError for a number that no worker of this training has."""
        if worker not in range(self.workers):
            raise ValueError(f"worker {worker} is not one of this training; workers are 0 to {self.workers - 1}.")

    def occupy(self, slot):
        """Give the worker this seat; whoever sat there before, an older connection of it, leaves. Needs the lock."""
        before = self._taken.get(slot.worker)
        if before is not None:
            before.replaced = True
            self.changed.notify_all()
        self._taken[slot.worker] = slot

    def release(self, slot):
        """Free the seat; return whether it was still the worker's. Needs the lock."""
        slot.replaced = True  # nothing more is taken from it
        if self._taken.get(slot.worker) is not slot:
            return False
        del self._taken[slot.worker]
        return True

    def disconnect(self, who):
        """End the connection that `who` names, if it still is its worker's. Needs the lock."""
        slot = self._taken.get(who.worker)
        if slot is not None and (slot.session, slot.attempt) == (who.session, who.sequence):
            slot.replaced = True
            self.changed.notify_all()

    def all(self):
        """Return the seats that are taken, by worker. Needs the lock."""
        return [self._taken[worker] for worker in sorted(self._taken)]

    def answer(self, entry, store, taken=None):
        """Put the store's parameters into the seats that this `Entry` answers, and wake them. Needs the lock.

        A connection gets its first answer from the entry that names it as joined; until then entries for an older
        connection of the same worker go past it.
        """
        for who in entry.joined:
            slot = self._taken.get(who.worker)
            if slot is not None and (slot.session, slot.attempt) == (who.session, who.sequence):
                slot.joined = True
        for who in (*entry.used, *entry.dropped, *entry.joined):
            slot = self._taken.get(who.worker)
            if slot is not None and slot.joined and slot.session == who.session:
                slot.taken = taken(slot.session) if taken else 0
                slot.answered = store.pull(slot.into).version
        self.changed.notify_all()  # costs nothing where nobody waits

    def wait(self, slot, send_heartbeat):
        """Return the version of the seat's next answer; None when training is over. Call without the lock.

        `send_heartbeat` is called twice a second meanwhile, so that the worker knows that we are there. Raises ConnectionError
        when the worker has come by another connection, or must.
        """
        while not self._counts_heard(slot):
            send_heartbeat()
        if slot.replaced:
            raise ConnectionError("the worker has come by another connection, or lost another shard.")
        if self.ended:
            return None
        slot.version, slot.answered = slot.answered, None
        return slot.version

    def _counts_heard(self, slot):
        if slot.answered is not None:
            return True  # an answer does not go away: no lock for the common case
        with self.changed:
            return self.changed.wait_for(lambda: slot.answered is not None or self.ended or slot.replaced, HEARTBEAT)

    def end(self, why, text="", **more):
        """End the training; the first reason is kept. Returns whether this was it. Needs the lock."""
        if self.ended is not None:
            return False
        self.ended = {"why": why, "text": text, **more}
        self.changed.notify_all()
        return True
