"""Who may change the store, and when: at once (asynchronous), or when enough workers have spoken (synchronous)."""

from collections import Counter
from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class Push:
    """One worker's gradients, computed at `version`; `arrived` in seconds on the server's clock."""

    worker: int
    version: int
    gradients: dict[str, torch.Tensor]
    loss: float = 0.0
    arrived: float = 0.0


class Asynchronous:
    """Every push is applied when it arrives, however old its parameters are, up to `max_staleness` updates."""

    def __init__(self, store, max_staleness=None):
        if max_staleness is not None and max_staleness < 0:
            raise ValueError(
                f"max_staleness={max_staleness}: give None for no bound, or a number of updates from 0 up."
            )
        self.store, self.max_staleness, self.dropped = store, max_staleness, Counter()

    def offer(self, push):
        """Apply the push; return the pushes applied by this call: it alone, or none if it was too stale."""
        if self.max_staleness is not None and self.store.version - push.version > self.max_staleness:
            self.dropped[push.worker] += 1
            return []
        self.store.push(push.gradients, push.version)
        return [push]

    def is_waiting(self, worker):
        """Whether `worker` must wait before it may go on: never."""
        return False

    def needs(self):
        """Return how many live workers training needs in order to go on."""
        return 1


class Synchronous:
    """An update is the mean of the first `aggregate` distinct workers' gradients at the present version.

    With `aggregate` = `workers` (the default) nothing is lost. With fewer, a straggler's gradient arrives at an older
    version, is dropped and counted, and the straggler goes on from the present parameters.
    """

    def __init__(self, store, workers, aggregate=None):
        aggregate = workers if aggregate is None else aggregate
        if not 1 <= aggregate <= workers:
            raise ValueError(f"aggregate={aggregate}: with {workers} workers it can be 1 to {workers}.")
        self.store, self.aggregate, self.dropped = store, aggregate, Counter()
        self._waiting = {}  # worker -> its push at the present version

    def offer(self, push):
        """Keep the push until enough workers have pushed, then apply their mean; return the pushes applied, if any."""
        if push.version != self.store.version or push.worker in self._waiting:
            self.dropped[push.worker] += 1
            return []
        self._waiting[push.worker] = push
        if len(self._waiting) < self.aggregate:
            return []
        # in worker order, not in order of arrival: float addition isn't associative, and the answer must not depend
        # on who was quicker
        used = [self._waiting[worker] for worker in sorted(self._waiting)]
        self._waiting.clear()
        self.store.push(_mean([push.gradients for push in used]), push.version)
        return used

    def is_waiting(self, worker):
        """Whether `worker` must wait for the others before it may go on."""
        return worker in self._waiting

    def needs(self):
        """Return how many live workers training needs in order to go on."""
        return self.aggregate


def _mean(gradients):
    total = {name: value.clone() for name, value in gradients[0].items()}
    for more in gradients[1:]:
        for name, value in more.items():
            total[name] += value
    return {name: value / len(gradients) for name, value in total.items()}


def make_rule(mode, store, workers, max_staleness=None, aggregate=None):
    """Return the rule for `mode`, "async" or "sync"; raises ValueError for an argument the mode doesn't have."""
    if mode == "async" and aggregate is None:
        return Asynchronous(store, max_staleness)
    if mode == "sync" and max_staleness is None:
        return Synchronous(store, workers, aggregate)
    raise ValueError(
        f"mode={mode!r}, max_staleness={max_staleness}, aggregate={aggregate}: "
        'use mode="async" (with max_staleness if you like) or mode="sync" (with aggregate if you like).'
    )
