"""Where workers wait for their answers on one shard: a seat a worker, one lock, one way to wake them."""

import threading

from course.training.transport.wire import BEAT


class Seat:
    """One worker's place on a shard, as long as one connection of it lasts: its session's `attempt`-th.

    `into`: name to tensor, where its answers are put. `answered`: the version of the answer that lies there, None
    while there is none; `taken`: the sequence number of its last push that was taken, as of that answer.
    """

    def __init__(self, worker, session, attempt, into):
        self.worker, self.session, self.attempt, self.into = worker, session, attempt, into
        self.answered, self.taken, self.version = None, 0, None
        self.joined, self.replaced = False, False


class Seats:
    """The seats of a shard. `changed` is the shard's lock; whatever is said here to need it, needs it held."""

    def __init__(self, workers):
        self.workers, self.changed, self.ended = workers, threading.Condition(), None
        self._taken = {}  # worker -> its seat

    def check(self, worker):
        """Raise ValueError for a number that no worker of this training has."""
        if worker not in range(self.workers):
            raise ValueError(f"worker {worker} is not one of this training; workers are 0 to {self.workers - 1}.")

    def sit(self, seat):
        """Give the worker this seat; whoever sat there before, an older connection of it, leaves. Needs the lock."""
        before = self._taken.get(seat.worker)
        if before is not None:
            before.replaced = True
            self.changed.notify_all()
        self._taken[seat.worker] = seat

    def stand(self, seat):
        """Free the seat; return whether it was still the worker's. Needs the lock."""
        seat.replaced = True  # nothing more is taken from it
        if self._taken.get(seat.worker) is not seat:
            return False
        del self._taken[seat.worker]
        return True

    def send_away(self, who):
        """End the connection that `who` names, if it still is its worker's. Needs the lock."""
        seat = self._taken.get(who.worker)
        if seat is not None and (seat.session, seat.attempt) == (who.session, who.sequence):
            seat.replaced = True
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
            seat = self._taken.get(who.worker)
            if seat is not None and (seat.session, seat.attempt) == (who.session, who.sequence):
                seat.joined = True
        for who in (*entry.used, *entry.dropped, *entry.joined):
            seat = self._taken.get(who.worker)
            if seat is not None and seat.joined and seat.session == who.session:
                seat.taken = taken(seat.session) if taken else 0
                seat.answered = store.pull(seat.into).version
        self.changed.notify_all()  # costs nothing where nobody waits

    def wait(self, seat, beat):
        """Return the version of the seat's next answer; None when training is over. Call without the lock.

        `beat` is called twice a second meanwhile, so that the worker knows that we are there. Raises ConnectionError
        when the worker has come by another connection, or must.
        """
        while not self._heard(seat):
            beat()
        if seat.replaced:
            raise ConnectionError("the worker has come by another connection, or lost another shard.")
        if self.ended:
            return None
        seat.version, seat.answered = seat.answered, None
        return seat.version

    def _heard(self, seat):
        if seat.answered is not None:
            return True  # an answer does not go away: no lock for the common case
        with self.changed:
            return self.changed.wait_for(lambda: seat.answered is not None or self.ended or seat.replaced, BEAT)

    def end(self, why, text="", **more):
        """End the training; the first reason is kept. Returns whether this was it. Needs the lock."""
        if self.ended is not None:
            return False
        self.ended = {"why": why, "text": text, **more}
        self.changed.notify_all()
        return True
