"""What the parameter server's threads share: store, rule and records, behind one lock, with one place to wait."""

import threading
import time

from course.training.rules import Push
from course.training.store import NonFiniteError

PATIENCE = 30.0  # seconds: the longest wait for a worker that is needed


class Exchange:
    """Workers push and pull here, each in a thread of its own; the run ends by itself after `limit` updates.

    Training starts when all `workers` have joined: nobody gets a head start. `patience`: the longest wait, in seconds,
    for a worker that is needed.
    """

    def __init__(self, store, rule, limit, workers, patience=PATIENCE):
        self.store, self.rule, self.limit, self.workers, self.patience = store, rule, limit, workers, patience
        self._changed = threading.Condition()
        self._started = None
        self._live, self._lost, self._records = set(), {}, []
        self._ended = None  # {"why": …, "text": …} once training is over

    def join(self, worker):
        """Let `worker` (an index) in; raises ValueError for one that is unknown or already here."""
        with self._changed:
            if worker not in range(self.workers) or worker in self._live:
                state = "already here" if worker in self._live else "not one of this training"
                raise ValueError(f"worker {worker} is {state}; workers are 0 to {self.workers - 1}, each once.")
            self._live.add(worker)
            self._lost.pop(worker, None)
            if len(self._live) == self.workers and self._started is None:
                self._started = time.perf_counter()
                if self.limit <= self.store.version:
                    self._end("steps")
                self._changed.notify_all()

    def first_pull(self, into):
        """Wait until everybody is here, copy the parameters `into` tensors, return the version (None: it is over)."""
        with self._changed:
            ready = self._changed.wait_for(lambda: self._started is not None or self._ended, self.patience)
            if not ready:
                missing = sorted(set(range(self.workers)) - self._live)
                self._end("error", f"workers {missing} have not joined after {self.patience:.0f} s")
            return None if self._ended else self.store.pull(into).version

    def push_pull(self, worker, version, loss, gradients, into):
        """Offer one push, wait as the rule says, then pull `into` tensors; return the version (None: it is over)."""
        with self._changed:
            if self._ended:
                return None
            self._offer(Push(worker, version, gradients, loss, self._now()))
            heard = self._changed.wait_for(lambda: self._ended or not self.rule.is_waiting(worker), self.patience)
            if not heard:
                self._end("error", f"a synchronous step has waited {self.patience:.0f} s for the other workers")
            return None if self._ended else self.store.pull(into).version

    def leave(self, worker, reason):
        """Count `worker` out; training ends with an error when too few are left."""
        with self._changed:
            self._live.discard(worker)
            if self._ended:
                return
            self._lost[worker] = f"{reason} (after step {self.store.version})"
            if len(self._live) < self.rule.needs() or self._started is None:
                self._end("lost")

    def end(self, why, text=""):
        """End the training; the first reason is kept."""
        with self._changed:
            self._end(why, text)

    def look(self, since):
        """Return (status, records from number `since` on): what the session asks for many times a second."""
        with self._changed:
            status = {
                "version": self.store.version,
                "ended": self._ended,
                "lost": self._lost,
                "dropped": self.rule.dropped,
                "needs": self.rule.needs(),
            }
            return status, self._records[since:]

    def pull(self, into):
        """Copy the present parameters `into` tensors and return their version."""
        with self._changed:
            return self.store.pull(into).version

    def _offer(self, push):
        try:
            applied = self.rule.offer(push)
        except NonFiniteError as error:
            self._end("not finite", error.tensor, version=error.version)
            return
        except ValueError as error:
            self._end("error", f"worker {push.worker}: {error}")
            return
        now = self._now()
        for used in applied:
            self._records.append((self.store.version, used.worker, used.version, used.loss, used.arrived, now))
        if self.store.version >= self.limit:
            self._end("steps")
        elif len(applied) > 1:
            self._changed.notify_all()  # the others of this synchronous step

    def _now(self):
        return time.perf_counter() - self._started

    def _end(self, why, text="", **more):
        if self._ended is None:
            self._ended = {"why": why, "text": text, **more}
            self._changed.notify_all()
