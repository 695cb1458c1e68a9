"""What shard 0's threads share: store, rule, records and the table of applied pushes, behind one lock.

Shard 0 decides. What it applies, drops or answers gets the next place in one order, which it tells the other shards (if
there are any) before it answers anybody; see `order` and `follower`.
"""

import time
from collections import Counter
from dataclasses import replace

from course.training.checkpoint.snapshot import Applied, Snapshot
from course.training.server.reply_slots import ReplySlot, ReplySlots
from course.training.server.rules import Push
from course.training.server.store import NonFiniteError
from course.training.server.update_log import Entry, PushId

GATHER = 30.0  # seconds for all workers to join at the start
GATHER_AGAIN = 2.0  # … after a shard was lost: those who are there by then go on
PATIENCE = 10.0  # seconds without any live worker


class Coordinator:
    """Workers push and are answered here, each in a thread of its own; the run ends by itself at `settings.limit`.

    Training starts when all workers have joined: nobody gets a head start. `start`: a `Snapshot` to go on from, whose
    table of applied pushes goes on too. `others`: how many more shards there are; training waits for `attach_followers`.
    """

    def __init__(self, store, rule, settings, incarnation=0, start=None, others=0):
        self.store, self.rule, self.settings, self.incarnation = store, rule, settings, incarnation
        self.slots, self.links, self._others = ReplySlots(settings.workers), [], others
        self._table = dict(start.applied) if start is not None else {}  # session -> Applied
        self._counts_heard = {}  # session -> (pushes sent, pushes acknowledged), as the worker last said
        self._current = {}  # worker -> its present session; an older one is refused
        self._live, self._lost, self._records, self._events = set(), {}, [], []
        self._staged, self._parts = {}, {}  # (link's number, worker) -> PushId; worker -> its push, until all is there
        self._started, self._no_worker_since, self._cuts = None, time.perf_counter(), 0

    # --- workers: admit, join, push, leave ---------------------------------------------------------------------------

    def admit(self, worker, session):
        """Raise ValueError for a worker that can't join: unknown, or replaced by a newer process."""
        self.slots.check(worker)
        with self.slots.changed:
            if session in self._table and self._current.get(worker) not in (None, session):
                raise ValueError(f"worker {worker} of this session was replaced by another process, which goes on.")

    def join(self, worker, session, into, attempt=0):
        """Seat `worker`, whose answers go `into` these tensors, and answer it if training has started."""
        self.admit(worker, session)
        with self.slots.changed:
            slot = ReplySlot(worker, session, attempt, into)
            self.slots.occupy(slot)
            self.rule.withdraw(worker)
            self._parts.pop(worker, None)
            if self._started is not None:
                self._add_event("worker joined", worker)
            self._current[worker] = session
            self._table.setdefault(session, Applied(worker, 0, 0, 0))
            self._live.add(worker)
            self._lost.pop(worker, None)
            if self._started is not None:
                self._order(joined=(_connection(slot),))
            else:
                self._start_if_complete()
            return slot

    def attach_followers(self, links):
        """Tell the order to the other shards from now on: `links` have a `tell(entry)`, one for each of them."""
        with self.slots.changed:
            self.links = links
            self._start_if_complete()

    def push(self, slot, sequence, loss, gradients, acknowledged=0):
        """Take one push; `slots.wait` then gives its answer. A sequence number that was taken before is not applied.

        `acknowledged`: how many pushes of its session the worker knows were taken.
        """
        refused = self._objection(gradients, slot)
        with self.slots.changed:
            self._note_counts(slot, sequence, acknowledged)
            if slot.replaced or self.slots.ended:
                return
            if refused:
                self._end(**refused)
            elif sequence <= self._table[slot.session].last:
                self._order(joined=(_connection(slot),))
            else:
                push = Push(slot.worker, slot.version, gradients, loss, self._now(), slot.session, sequence)
                if self.links:
                    self._parts[slot.worker] = push
                    self._offer_if_complete(slot.worker)
                else:
                    self._offer(push)

    def note_counts(self, slot, sent, acknowledged):
        """Note the worker's own last counts: it is leaving."""
        with self.slots.changed:
            self._note_counts(slot, sent, acknowledged)

    def staged(self, link, push):
        """Hear that the shard behind `links[link]` has its part of the push with this `PushId`."""
        with self.slots.changed:
            self._staged[link, push.worker] = push
            if not self.slots.ended:
                self._offer_if_complete(push.worker)

    def left(self, who):
        """Hear that another shard lost this connection of a worker, which then has to come anew to all of them."""
        with self.slots.changed:
            self.slots.disconnect(who)

    def leave(self, slot, reason, silent=False):
        """Count the seat's worker out, unless it has come again; who waits only for it goes on."""
        with self.slots.changed:
            if not self.slots.release(slot) or self.slots.ended:
                return
            self._live.discard(slot.worker)
            self._no_worker_since = time.perf_counter()
            self._lost[slot.worker] = f"{reason} (after step {self.store.version})"
            self._add_event("worker counted out" if silent else "worker lost", slot.worker, reason)
            used = self.rule.settle(self._live)
            if used:
                self._take(used, [])

    # --- the session: look, cut, end ---------------------------------------------------------------------------------

    def poll(self, since, events=0):
        """Return (status, records from number `since` on): what the session asks for many times a second.

        `status["events"]` are those from number `events` on, as [seconds, what, worker, step, reason]; "sent",
        "acknowledged", "applied" and "dropped" count pushes by worker.
        """
        with self.slots.changed:
            self._check_deadlines()
            status = {
                "version": self.store.version,
                "incarnation": self.incarnation,
                "seconds": None if self._started is None else self._now(),
                "ended": self.slots.ended,
                "live": sorted(self._live),
                "lost": self._lost,
                "degraded": self.rule.degraded,
                "events": self._events[events:],
                **self._counts(),
            }
            return status, self._records[since:]

    def cut(self, full=True):
        """Return (number, `Snapshot` of this moment): the other shards keep theirs of the same place in the order.

        Not `full`: the parameters alone.
        """
        with self.slots.changed:
            self._cuts += 1
            self._order(cut=(self._cuts, full))
            return self._cuts, state_of(self.store, full, self.incarnation, self.settings.seed, self._table)

    def end(self, why, text="", **more):
        """End the training; the first reason is kept."""
        with self.slots.changed:
            self._end(why, text, **more)

    # --- with the lock held ------------------------------------------------------------------------------------------

    def _note_counts(self, slot, *counts):
        # the larger: what an older connection had on its way may come after what was said on the next
        self._counts_heard[slot.session] = max(self._counts_heard.get(slot.session, (0, 0)), counts)

    def _objection(self, gradients, slot):
        try:
            self.store.check(gradients, slot.version)
        except NonFiniteError as error:
            return {"why": "not finite", "text": error.tensor, "version": error.version}
        except ValueError as error:
            return {"why": "error", "text": f"worker {slot.worker}: {error}"}

    def _offer_if_complete(self, worker):
        push = self._parts.get(worker)
        if push is None:
            return
        wanted = PushId(worker, push.session, push.sequence)
        if all(self._staged.get((link, worker)) == wanted for link in range(len(self.links))):
            self._offer(self._parts.pop(worker))

    def _offer(self, push):
        used = self.rule.offer(push, self._live)
        self._take(used, [] if used or self.rule.is_waiting(push.worker) else [push])

    def _take(self, used, dropped):
        """Write down what became of these pushes, and give it its place in the order."""
        now = self._now()
        for push in used:
            self._records.append((self.store.version, push.worker, push.version, push.loss, push.arrived, now))
            self._count(push, applied=1)
        for push in dropped:
            self._count(push, dropped=1)
        if used or dropped:
            self._order(used=_ids(used), dropped=_ids(dropped))
        if used and self.store.version >= self.settings.limit:
            self._end("steps")

    def _count(self, push, applied=0, dropped=0):
        before = self._table[push.session]
        self._table[push.session] = Applied(
            push.worker, push.sequence, before.applied + applied, before.dropped + dropped
        )

    def _counts(self):
        """Return what became of the pushes of this lineage, as dictionaries by worker."""
        counts = {name: Counter() for name in ("sent", "acknowledged", "applied", "dropped")}
        for session, (worker, last, applied, dropped) in self._table.items():
            sent, acknowledged = self._counts_heard.get(session, (0, 0))
            counts["sent"][worker] += max(sent, last)
            counts["acknowledged"][worker] += acknowledged
            counts["applied"][worker] += applied
            counts["dropped"][worker] += dropped
        return counts

    def _order(self, **entry):
        entry = Entry(self.store.version, **entry)
        for link in self.links:
            link.tell(entry)
        self.slots.answer(entry, self.store, self._last)

    def _last(self, session):
        return self._table[session].last

    def _start_if_complete(self):
        if len(self._live) == self.settings.workers and len(self.links) == self._others and self._started is None:
            self._start()

    def _start(self):
        self._started = time.perf_counter()
        if self.settings.limit <= self.store.version:
            self._end("steps")
        else:
            self._order(joined=tuple(_connection(slot) for slot in self.slots.all()))

    def _check_deadlines(self):
        """Do what is due by the clock; the session looks often enough."""
        quiet = time.perf_counter() - self._no_worker_since
        if self.slots.ended:
            return
        if self._started is None:
            if self._live and self.incarnation and quiet > GATHER_AGAIN and len(self.links) == self._others:
                self._start()
            elif quiet > GATHER:
                missing = sorted(set(range(self.settings.workers)) - self._live)
                what_next = "see that their tasks run, then train again"
                self._end("error", f"workers {missing} have not joined after {GATHER:.0f} s; {what_next}")
        elif not self._live and quiet > PATIENCE:
            self._end("lost", f"no worker for {PATIENCE:.0f} s")

    def _add_event(self, what, worker, reason=""):
        self._events.append((self._now(), what, worker, self.store.version, reason))

    def _now(self):
        return 0.0 if self._started is None else time.perf_counter() - self._started

    def _end(self, why, text="", **more):
        if self.slots.end(why, text, **more):
            self._order(ended=self.slots.ended)


def state_of(store, full, incarnation=0, seed=0, applied=None):
    """Return the store's `Snapshot`, or one of its parameters alone."""
    state = store.state() if full else Snapshot(*store.pull())
    return replace(state, incarnation=incarnation, seed=seed, applied=dict(applied or {}))


def _connection(slot):
    return PushId(slot.worker, slot.session, slot.attempt)


def _ids(pushes):
    return tuple(PushId(push.worker, push.session, push.sequence) for push in pushes)
