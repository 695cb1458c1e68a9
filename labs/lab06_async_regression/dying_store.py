"""A parameter server for lab 06's check, in the notebook's own process: it dies by plan and comes back older.

It behaves as the one that marks are made with, which is a process of its own and is killed.
"""

import numpy as np

REFUSALS = 2  # times that connecting fails while the store is down


class DyingStore:
    """The store of a plan, with `total` updates to make. `applied` lists (version, w before, gradient).

    `plan`: {"rate": learning rate, "every": so many updates a checkpoint, "deaths": for each life [push of that life at
    which it ends, whether that push was still applied]}.
    """

    def __init__(self, plan, total):
        self.plan, self.most = plan, 20 * (total + 5)
        self.version, self.w, self.saved = 0, np.zeros(2), (0, np.zeros(2))
        self.life, self.pushes, self.refusals, self.requests, self.applied = 0, 0, 0, 0, []

    def connect(self):
        """Return a connection; raises ConnectionRefusedError while the store is down."""
        self.count()
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefusedError("there is no store at this address")
        return _Connection(self)

    def count(self):
        """Count a request, so that a loop that gets nowhere ends."""
        self.requests += 1
        if self.requests > self.most:
            raise RuntimeError(f"{self.most} requests, and the store is at version {self.version}")

    def push(self, gradient):
        """Apply it, or die."""
        self.pushes += 1
        dies, taken = self._death()
        if not dies or taken:
            gradient = np.array(gradient, float).reshape(2)
            self.applied.append((self.version, self.w.copy(), gradient))
            self.w = self.w - self.plan["rate"] * gradient
            self.version += 1
            if self.version % self.plan["every"] == 0:
                self.saved = self.version, self.w.copy()
        if dies:
            self.life, self.pushes, self.refusals = self.life + 1, 0, REFUSALS
            self.version, self.w = self.saved[0], self.saved[1].copy()
            raise ConnectionResetError("the store is gone")
        return self.version

    def _death(self):
        if self.life >= len(self.plan["deaths"]):
            return False, False
        push, taken = self.plan["deaths"][self.life]
        return self.pushes == push, taken


class _Connection:
    """What `connect()` gives: it serves as long as the store's life lasts in which it was made."""

    def __init__(self, store):
        self._store, self._life = store, store.life

    def pull(self):
        """Return (version, w)."""
        self._alive()
        return self._store.version, self._store.w.copy()

    def push(self, gradient):
        """Give the store a gradient; return its new version."""
        self._alive()
        return self._store.push(gradient)

    def _alive(self):
        self._store.count()
        if self._life != self._store.life:
            raise BrokenPipeError("the store at the other end is gone")
