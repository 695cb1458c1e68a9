"""Which worker has which trial, what it reports on its way, and how it is stopped.

Each worker task has one trial at a time, pinned to it: where its process dies, the cluster replaces the task, and Dask
runs the trial again there. The problem goes to a task once, and stays in its memory. Reports come as Dask's events. The
order to stop a trial goes to every worker.
"""

import asyncio
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from course.signals import held_back
from course.tuning.trial import Job, forget_study, run_trial, stop_trials

#: For workers to acknowledge the order to stop a trial.
TRIAL_STOPPED = 2.0
#: For trials to stop when tuning ends early: each looks once an update. After that a local task's process is ended.
TRIAL_STOPS = 3.0

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster


@dataclass(frozen=True)
class Report:
    """An `attempt` (an id) at trial `number` begins on a task; with a `value`: it was measured after `step` updates."""

    number: int
    attempt: str
    step: int = 0
    value: float | None = None


@dataclass(frozen=True)
class Ended:
    """A trial's future is done; the task is free again."""

    number: int
    task: str
    future: Future


class Dispatch(AbstractContextManager):
    """Sends trials of `problem` to `tasks` of `cluster`, in a `with`; at its end nothing of them runs any more."""

    def __init__(self, cluster: "Cluster", tasks: Sequence[str], problem: Any, steps: int, metric: str, seed: int):
        self.id = f"tuning-{uuid.uuid4().hex}"
        self._cluster, self._tasks, self._problem = cluster, list(tasks), problem
        self._common = (steps, metric, seed)
        self._inbox: SimpleQueue[Report | Ended] = SimpleQueue()
        self._flying: dict[str, tuple[int, Future]] = {}  # task -> the trial it has
        self._loaded: dict[str, Any] = {}  # task -> Dask's future of the problem in its memory
        cluster.client.subscribe_topic(self.id, self._hear)
        self._tell(_itself, None)  # opens a line to each worker, which takes up to a second: to stop one mustn't

    @property
    def flying(self) -> dict[int, str]:
        """The trials that are with a task: number -> task."""
        return {number: task for task, (number, _) in self._flying.items()}

    def free(self) -> list[str]:
        """Return the tasks that have joined and have no trial."""
        present = set(self._cluster.tasks)
        return [task for task in self._tasks if task in present and task not in self._flying]

    def send(self, task: str, number: int, parameters: dict[str, Any]) -> None:
        """Have `task` run this trial; RuntimeError when the cluster is closed, ValueError when the task has left."""
        with held_back(), self._cluster.at(task):  # an interrupt in here would leave a trial that nobody knows of
            if task not in self._loaded:
                self._loaded[task] = self._cluster.client.submit(_itself, self._problem, pure=False)
            job = Job(self.id, number, parameters, *self._common)
            future = self._cluster.executor.submit(run_trial, self._loaded[task], job)
            self._flying[task] = number, future
        future.add_done_callback(lambda done: self._inbox.put(Ended(number, task, done)))

    def next(self, seconds: float) -> Report | Ended | None:
        """Return the next message; None after so many seconds without any."""
        try:
            message = self._inbox.get(timeout=seconds)
        except Empty:
            return None
        if isinstance(message, Ended):
            self._flying.pop(message.task, None)
        return message

    def stop(self, number: int | None = None) -> None:
        """Tell every worker to end this trial, or each one; returns before they answer."""
        self._tell(stop_trials, self.id, number)

    def forget(self, task: str) -> None:
        """Send the problem to `task` anew, with its next trial."""
        if (loaded := self._loaded.pop(task, None)) is not None:
            loaded.release()

    def __exit__(self, *_: object) -> None:
        with held_back():
            self._end()

    def _end(self):
        """Stop the trials that run and wait for them; replace the process of a task that doesn't stop."""
        if self._flying:
            with suppress(RuntimeError):  # the cluster is closed: nothing runs there any more
                self.stop()
            deadline = time.monotonic() + TRIAL_STOPS
            while self._flying and time.monotonic() < deadline:
                self.next(deadline - time.monotonic())
        for task, (_, future) in self._flying.items():
            future.cancel()
            with suppress(RuntimeError, ValueError):  # not a local cluster, which alone can end and replace a task
                self._cluster.kill(task)
        for task in list(self._loaded):
            self.forget(task)
        with suppress(RuntimeError):
            self._cluster.client.unsubscribe_topic(self.id)
            self._tell(forget_study, self.id)

    def _tell(self, function, *arguments):
        client = self._cluster.client

        async def tell():
            with suppress(Exception):  # Dask passes on any error of a worker's; one that is away has nothing to end
                await asyncio.wait_for(client._run(function, *arguments, on_error="ignore"), TRIAL_STOPPED)

        client.loop.add_callback(tell)

    def _hear(self, event):
        """Take Dask's event, (time, fields of a `Report`), in the client's thread."""
        self._inbox.put(Report(*event[1]))


def _itself(problem):
    return problem
