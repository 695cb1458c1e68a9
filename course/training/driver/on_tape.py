"""What a training's driver tells the tape of its cluster, if there is one: the updates, and what happened to whom."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from course.cluster.tape.recorder import TrainingNotes
from course.training.driver.history import History
from course.training.records import Event

if TYPE_CHECKING:
    from course.training.driver.worker_pool import WorkerPool


def note_training(pool: "WorkerPool", history: History, events: Sequence[Event]) -> None:
    """Tell the tape that records the cluster of `pool` of the training with this `history`, and its `events`.

    Does nothing where no tape records. Updates that the loss of a parameter server undid are not in a history.
    """
    recorder = pool.cluster.recorder
    if recorder is None:
        return
    zero = time.time() - history.elapsed()  # a history counts on a clock that has no zero of its own
    rows = [
        (step, worker, version, zero + arrived, zero + applied)
        for step, worker, version, _, arrived, applied in history.records.tolist()
    ]
    nbytes = sum(value.numel() * value.element_size() for value in pool.plan.problem.initial().values())
    at_times = [(zero + event.seconds, event.what, event.task, event.reason) for event in events]
    recorder.trained(TrainingNotes(pool.plan.ps, pool.plan.workers, zero, nbytes, rows, at_times))
