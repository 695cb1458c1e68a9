"""Shard 0, the coordinator: it decides what becomes of every push, and gives each decision its place in one order.

All state stands behind one lock. A decision goes into the log of every other shard before any worker is answered.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.records import TrainingSettings
from course.training.server.attendance import Attendance
from course.training.server.ordered_copies import Copy, OrderedCopies
from course.training.server.reply_slots import ReplySlot, ReplySlots, optimizer_failed, refusal
from course.training.server.rules import Push, make_rule
from course.training.server.store import ParameterServer
from course.training.server.update_log import Entry, PushId, PushTable

_LOG = logging.getLogger(__name__)


class Coordinator:
    """Workers push and are answered here, each in a thread of its own; the run ends by itself at `settings.limit`.

    Training starts when all workers have joined, so that no worker has a head start. `start`: a `Snapshot` to go on
    from, with its table of applied pushes. `others`: how many more shards there are, to be attached before training.
    """

    def __init__(
        self, store: ParameterServer, settings: TrainingSettings, incarnation: int, start: Snapshot | None, others: int
    ):
        self.store, self.settings, self.incarnation = store, settings, incarnation
        self.rule = make_rule(settings, store)
        self.slots, self._others = ReplySlots(settings.workers), others
        self.links: list = []
        self._table = PushTable(start.applied if start is not None else None)
        self._current: dict[int, str] = {}  # worker -> its present session; an older one is refused
        self._attendance = Attendance(settings.workers, store.version)
        self._records: list[tuple] = []
        self._events: list[tuple] = []
        self._staged: dict[tuple[int, int], PushId] = {}  # by (shard, worker)
        self._parts: dict[int, Push] = {}  # worker -> its push, until every follower has staged its part
        self._started: float | None = None
        self._cuts = 0
        self._needed = 1  # the first cut that may be taken
        self._copies = OrderedCopies()

    # --- workers: admit, join, push, leave ---------------------------------------------------------------------------

    def admit(self, worker: int, session: str) -> None:
        """Raise ValueError for a worker that can't join: unknown, or replaced by a newer process."""
        self.slots.check(worker)
        with self.slots.changed:
            if session in self._table.applied and self._current.get(worker) not in (None, session):
                raise ValueError(f"worker {worker} of this session was replaced by another process, which goes on.")

    def refuse(self, worker: int, reason: str) -> None:
        """Note that this worker can't take part. A training that has not begun needs every worker, so it ends."""
        with self.slots.changed:
            if self._started is None and not self.incarnation:
                self.end("error", f"worker {worker} is refused: {reason}", worker=worker)
            elif not self.slots.ended:
                self._add_event("worker refused", worker, reason)

    def join(self, slot: ReplySlot) -> ReplySlot:
        """Give the worker this new reply slot, and return it; it is answered at once if training runs.

        What the worker had pushed and not seen applied is void: it computes it anew.
        """
        worker, session = slot.worker, slot.session
        self.admit(worker, session)
        with self.slots.changed:
            self.slots.occupy(slot)
            self.rule.withdraw(worker)
            self._parts.pop(worker, None)
            self._current[worker] = session
            self._table.open(session, worker)
            self._attendance.join(worker)
            if self._started is not None:
                self._add_event("worker joined", worker)
                self._order(joined=(slot.connection,))
            else:
                live = len(self._attendance.live)
                _LOG.info("worker %d has joined: %d of %d", worker, live, self.settings.workers)
                self._start_if_complete()
            return slot

    def attach_followers(self, links: list) -> None:
        """Send the log to the other shards from now on: `links` have a `send_entry(entry)`, one for each of them."""
        with self.slots.changed:
            self.links = links
            self._start_if_complete()

    def push(
        self, slot: ReplySlot, sequence: int, loss: float, gradients: dict[str, torch.Tensor], acknowledged: int
    ) -> None:
        """Accept one push; `slots.wait` then gives its answer. A number that was decided before is not applied again.

        `acknowledged`: how many pushes of its session the worker knows were applied or dropped.
        """
        refused = refusal(self.store, slot, gradients)
        with self.slots.changed:
            while self._copies.are_full(self.store.version) and not self.slots.ended:
                self.slots.changed.wait()  # for the driver, as long as it may be silent: without it, none is kept
            self._table.note_reported(slot.session, sequence, acknowledged)
            if slot.replaced or self.slots.ended:
                return
            if refused:
                self.end(**refused)
            elif sequence <= self._table.last(slot.session):
                self._order(joined=(slot.connection,))
            else:
                push = Push(slot.worker, slot.version, gradients, loss, self._seconds(), slot.session, sequence)
                if self.links:
                    self._parts[slot.worker] = push
                    self._offer_if_complete(slot.worker)
                else:
                    self._offer(push)

    def note_counts(self, slot: ReplySlot, sent: int, acknowledged: int) -> None:
        """Note the worker's own last counts: it is leaving."""
        with self.slots.changed:
            self._table.note_reported(slot.session, sent, acknowledged)

    def staged(self, shard: int, push: PushId) -> None:
        """Note that this other shard, from 1 up, has its part of the push with this `PushId`."""
        with self.slots.changed:
            self._staged[shard, push.worker] = push
            if not self.slots.ended:
                self._offer_if_complete(push.worker)

    def leave(self, slot: ReplySlot, reason: str, silent: bool = False) -> None:
        """Count the slot's worker out, unless it has come again; an update that waits for it alone is made."""
        with self.slots.changed:
            if not self.slots.release(slot) or self.slots.ended:
                return
            self._attendance.leave(slot.worker, f"{reason} (after step {self.store.version})")
            self._add_event("worker counted out" if silent else "worker lost", slot.worker, reason)
            self._settle(self._decided(self.rule.settle, self._attendance.live))
            self._end_if(self._attendance.end_by_losses(slot.worker, self.store.version, slot.version >= 0))

    # --- the driver: poll, cut, end ----------------------------------------------------------------------------------

    def poll(self, since: int, events: int = 0, told: int = 0) -> tuple[dict[str, Any], list[tuple]]:
        """Return (status, records from number `since` on): what the driver asks for many times a second.

        `status["events"]` are those from number `events` on, as [seconds, what, worker, step, reason]; "sent",
        "acknowledged", "applied" and "dropped" count pushes by worker. `told`: hooks were told of the steps up to it.
        """
        with self.slots.changed:
            self._check_deadlines()
            if self._copies.release(told):
                self.slots.changed.notify_all()
            self._needed = self._copies.oldest(self._cuts + 1)  # who polls is not in the midst of taking a cut
            status = {
                "version": self.store.version,
                "incarnation": self.incarnation,
                "seconds": None if self._started is None else self._seconds(),
                "ended": self.slots.ended,
                "live": sorted(self._attendance.live),
                "lost": self._attendance.lost,
                "degraded": self.rule.degraded,
                "events": self._events[events:],
                **self._table.counts(),
            }
            return status, self._records[since:]

    def cut(self, full: bool = True) -> tuple[int, Snapshot]:
        """Return (number, `Snapshot`, not `full`: of parameters alone); other shards keep theirs of the same place."""
        with self.slots.changed:
            cut, copy = self._cut(full)
            self._order(cut=cut)
            return copy.number, copy.snapshot()

    def order_copies(self, orders: Iterable[tuple[int, bool]], nbytes: int) -> None:
        """Keep a copy of each version that is ordered, from now on; arguments as for `OrderedCopies.order`."""
        with self.slots.changed:
            self._copies.order(orders, nbytes)
            self.slots.changed.notify_all()

    def take_copy(self, version: int) -> Copy | None:
        """Return the copy of a version that was ordered, once; None where none is kept."""
        with self.slots.changed:
            self.slots.changed.notify_all()
            return self._copies.take(version)

    def end(self, why: str, text: str = "", **more: Any) -> None:
        """End the training; the first reason is kept."""
        with self.slots.changed:
            if self.slots.end(why, text, **more):
                self._note_end()
                self._order(ended=self.slots.ended)

    # --- with the lock held ------------------------------------------------------------------------------------------

    def _offer_if_complete(self, worker):
        push = self._parts.get(worker)
        if push is None:
            return
        wanted = PushId(worker, push.session, push.sequence)
        if all(self._staged.get((shard, worker)) == wanted for shard in range(1, len(self.links) + 1)):
            self._offer(self._parts.pop(worker))

    def _offer(self, push):
        used = self._decided(self.rule.offer, push, self._attendance.live)
        waits = self.rule.is_waiting(push.worker) or self.slots.ended
        self._settle(used, [] if used or waits else [push])

    def _decided(self, decide, *arguments):
        """Return the pushes that the rule has applied now; none where the optimiser, the reader's, ended training."""
        try:
            return decide(*arguments)
        except BaseException as error:  # SystemExit too: this thread would end without a word
            self.end("error", optimizer_failed(error))
            return []

    def _settle(self, used, dropped=()):
        """Write down what became of these pushes, and give it its place in the order."""
        seconds = self._seconds()
        for push in used:
            self._records.append((self.store.version, push.worker, push.version, push.loss, push.arrived, seconds))
            self._table.note(push, applied=1)
        for push in dropped:
            self._table.note(push, dropped=1)
        cut, full = None, self._copies.due(self.store.version) if used else None
        if full is not None:
            cut, copy = self._cut(full)
            self._copies.keep(self.store.version, copy)
        if used and self.store.version >= self.settings.limit:
            self.slots.end("steps")  # before the answers: nobody is to compute another gradient
            self._note_end()
        if used or dropped:
            self._order(used=_ids(used), dropped=_ids(dropped), cut=cut, ended=self.slots.ended)

    def _cut(self, full):
        """Return (an `Entry`'s cut, the `Copy` of the state as it is now)."""
        self._cuts += 1
        which = self.incarnation, self.settings.seed, self._table.applied
        return (self._cuts, full, self._needed), Copy(self._cuts, self.store, full, self._copies.room, *which)

    def _order(self, **entry):
        """Give a decision its place in the order: every other shard's log first, then the workers' answers."""
        entry = Entry(self.store.version, **entry)
        for link in self.links:
            link.send_entry(entry)
        self.slots.answer(entry, self.store, self._table.last)

    def _start_if_complete(self):
        if self._started is None and self._attendance.is_complete and self._all_follow:
            self._start()

    def _start(self):
        self._started = time.perf_counter()
        _LOG.info("training begins at version %d with workers %s", self.store.version, sorted(self._attendance.live))
        if self.settings.limit <= self.store.version:
            self.end("steps")
        else:
            self._order(joined=tuple(slot.connection for slot in self.slots.all()))

    @property
    def _all_follow(self):
        return len(self.links) == self._others

    def _check_deadlines(self):
        """Do what is due by the clock; the driver polls often enough."""
        if self.slots.ended:
            return
        if self._started is not None:
            self._end_if(self._attendance.end_without_workers())
        elif self.incarnation and self._all_follow and self._attendance.may_begin_incomplete():
            self._start()
        else:
            self._end_if(self._attendance.end_before_start())

    def _end_if(self, end):
        if end is not None:
            self.end(**end)

    def _add_event(self, kind, worker, reason=""):
        self._events.append((self._seconds(), kind, worker, self.store.version, reason))
        _LOG.info("worker %d: %s after step %d%s", worker, kind, self.store.version, reason and f": {reason}")

    def _note_end(self):
        why, text = self.slots.ended["why"], self.slots.ended["text"]
        _LOG.info("training ends at version %d: %s%s", self.store.version, why, text and f", {text}")

    def _seconds(self):
        return 0.0 if self._started is None else time.perf_counter() - self._started


def _ids(pushes):
    return tuple(PushId(push.worker, push.session, push.sequence) for push in pushes)
