"""When a push is applied: at once (asynchronous), or when enough workers have pushed (synchronous)."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch

from course.training.records import TrainingSettings
from course.training.server.store import ParameterServer
from course.training.transport.layout import Tensors


@dataclass(frozen=True, eq=False)
class Push:
    """One worker's gradients, computed at `version`; `arrived` in seconds on the server's clock.

    `session` and `sequence` are its id: the worker's session, and the number of this push in it.
    """

    worker: int
    version: int
    gradients: dict[str, torch.Tensor]
    loss: float = 0.0
    arrived: float = 0.0
    session: str = ""
    sequence: int = 0


class Asynchronous:
    """Every push is applied when it arrives, however old its parameters are, up to `max_staleness` updates."""

    degraded = 0  # no update ever waits for a worker

    def __init__(self, store: ParameterServer, max_staleness: int | None = None):
        if max_staleness is not None and max_staleness < 0:
            raise ValueError(
                f"max_staleness={max_staleness}: give None for no bound, or a number of updates from 0 up."
            )
        self.store = store
        self.max_staleness = max_staleness
        self.dropped: Counter[int] = Counter()

    def offer(self, push: Push, live: set[int] | None = None) -> list[Push]:
        """Apply a push that the store has checked; return the pushes applied by this call: it, or none if too stale."""
        if self.max_staleness is not None and self.store.version - push.version > self.max_staleness:
            self.dropped[push.worker] += 1
            return []
        self.store.apply(push.gradients, push.version)
        return [push]

    def settle(self, live: set[int] | None) -> list[Push]:
        """Return the pushes that can be applied now that only these workers are alive: no push ever waits, so none."""
        return []

    def withdraw(self, worker: int) -> None:
        """Forget what `worker` has pushed and not seen applied: nothing, here."""

    def is_waiting(self, worker: int) -> bool:
        """Whether `worker` must wait before it may go on: never."""
        return False


class Synchronous:
    """An update is the mean of the first `aggregate` distinct workers' gradients at the present version.

    With `aggregate` = `workers` (the default) nothing is lost. With fewer, a straggler's gradient arrives at an older
    version, is dropped and counted, and the straggler goes on from the present parameters. Where fewer than `aggregate`
    workers are alive, an update is the mean over those, and `degraded` counts it.
    """

    def __init__(self, store: ParameterServer, workers: int, aggregate: int | None = None):
        aggregate = workers if aggregate is None else aggregate
        if not 1 <= aggregate <= workers:
            raise ValueError(f"aggregate={aggregate}: with {workers} workers it can be 1 to {workers}.")
        self.store = store
        self.aggregate, self.degraded = aggregate, 0
        self.dropped: Counter[int] = Counter()
        self._waiting: dict[int, Push] = {}  # worker -> its push at the present version

    def offer(self, push: Push, live: set[int] | None = None) -> list[Push]:
        """Keep a push that the store has checked until enough workers have pushed, then apply their mean.

        `live`: the workers that are alive (None: all). Returns the pushes applied, if any, in worker order.
        """
        if push.version != self.store.version or push.worker in self._waiting:
            self.dropped[push.worker] += 1
            return []
        self._waiting[push.worker] = push
        return self.settle(live)

    def settle(self, live: set[int] | None) -> list[Push]:
        """Apply what waits, if it is enough or no live worker is still to come; return the pushes applied."""
        enough = len(self._waiting) >= self.aggregate
        alone = live and live <= self._waiting.keys()
        if not enough and not alone:
            return []
        # in worker order, not in order of arrival: float addition isn't associative, and the answer must not depend
        # on which was quicker
        used = [self._waiting[worker] for worker in sorted(self._waiting)]
        self._waiting.clear()
        self.degraded += not enough
        self.store.apply(mean_of([push.gradients for push in used], self.store.spare), self.store.version)
        return used

    def withdraw(self, worker: int) -> None:
        """Forget what `worker` has pushed and not seen applied: it has come again and computes it anew."""
        self._waiting.pop(worker, None)

    def is_waiting(self, worker: int) -> bool:
        """Whether `worker` must wait for the others before it may go on."""
        return worker in self._waiting


def mean_of(gradients: list[dict[str, torch.Tensor]], into: Tensors | None = None) -> dict[str, torch.Tensor]:
    """Return the mean of a list of gradients (name to tensor each), summed in the order of the list.

    `into`: where all lie as it does, the mean is put there: new memory takes longer than the sum.
    """
    first, *others = gradients
    if not others:
        return first
    if into is not None and into.flat is not None:
        vectors = [each.flat for each in gradients if isinstance(each, Tensors) and each.layout == into.layout]
        if len(vectors) == len(gradients):
            _mean(vectors, into.flat)
            return into
    return {name: _mean([each[name] for each in gradients]) for name in first}


def _mean(values, into=None):
    total = torch.add(values[0], values[1], out=into)  # the pushes stay as they are
    for more in values[2:]:
        total += more
    count = len(values)
    # by a power of two both round alike, and to multiply takes half the time
    return total.div_(count) if count & (count - 1) else total.mul_(1 / count)


def make_rule(settings: TrainingSettings, store: Any) -> Asynchronous | Synchronous:
    """Return the rule of `settings`; ValueError for one that its mode doesn't have. `store`: None to check them."""
    mode, max_staleness, aggregate = settings.mode, settings.max_staleness, settings.aggregate
    if mode == "async" and aggregate is None:
        return Asynchronous(store, max_staleness)
    if mode == "sync" and max_staleness is None:
        return Synchronous(store, settings.workers, aggregate)
    raise ValueError(
        f"mode={mode!r}, max_staleness={max_staleness}, aggregate={aggregate}: "
        'use mode="async" (with max_staleness if you like) or mode="sync" (with aggregate if you like).'
    )
