"""Which workers take part in a training: who has joined, who was lost and why, and when that ends the training."""

import time
from collections import Counter
from typing import Any

#: For all workers to join at the start: their tasks import torch.
ALL_WORKERS_JOIN = 30.0
#: … and so much longer for each of them: a process imports for 0.3 s of a core, and cores may be few and busy.
EACH_WORKER_JOINS = 1.0
#: … after a shard was lost: the workers that are there by then go on.
WORKERS_REJOIN = 2.0
#: A training without any live worker ends after so long.
NO_WORKER_LEFT = 10.0

LOSSES = 5  # of one worker without an update in between, after which training is given up


class Attendance:
    """The `workers` of a training, as shard 0 sees them: those that are `live`, and those `lost` (worker -> why).

    What ends a training is returned as `Coordinator.end` takes it, None where nothing does. Needs shard 0's lock.
    """

    def __init__(self, workers: int, version: int):
        self._workers = workers
        self.live: set[int] = set()
        self.lost: dict[int, str] = {}
        self._losses, self._losses_at = Counter[int](), version  # by worker, all of them at this version
        self._no_worker_since = time.perf_counter()

    @property
    def is_complete(self) -> bool:
        """Whether every worker is live."""
        return len(self.live) == self._workers

    def join(self, worker: int) -> None:
        """Count the worker in."""
        self.live.add(worker)
        self.lost.pop(worker, None)

    def leave(self, worker: int, reason: str) -> None:
        """Count the worker out."""
        self.live.discard(worker)
        self.lost[worker] = reason
        self._no_worker_since = time.perf_counter()

    def end_by_losses(self, worker: int, version: int, had_parameters: bool) -> dict[str, Any] | None:
        """Count a loss of this worker; return the end where it is lost again and again, with no update in between."""
        if self._losses_at != version:
            self._losses_at, self._losses = version, Counter()
        self._losses[worker] += had_parameters
        if self._losses[worker] < LOSSES:
            return None
        text = f"lost {LOSSES} times without an update in between, the last time: {self.lost[worker]}"
        return {"why": "stuck", "text": text, "worker": worker}

    def may_begin_incomplete(self) -> bool:
        """Whether training may go on with the workers that are live: after a loss of a shard, some have come again."""
        return bool(self.live) and time.perf_counter() - self._no_worker_since > WORKERS_REJOIN

    def end_before_start(self) -> dict[str, Any] | None:
        """Return the end of a training whose workers have not all joined in time."""
        limit = ALL_WORKERS_JOIN + EACH_WORKER_JOINS * self._workers
        if time.perf_counter() - self._no_worker_since <= limit:
            return None
        missing = sorted(set(range(self._workers)) - self.live)
        advice = "see that their tasks run, then train again"
        text = f"workers {missing} have not joined after {limit:.0f} s; {advice}"
        return {"why": "error", "text": text, "worker": missing[0]}

    def end_without_workers(self) -> dict[str, Any] | None:
        """Return the end of a training that has had no live worker for too long."""
        if self.live or time.perf_counter() - self._no_worker_since <= NO_WORKER_LEFT:
            return None
        return {"why": "lost", "text": f"no worker for {NO_WORKER_LEFT:.0f} s"}
