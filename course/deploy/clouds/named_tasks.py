"""Names for the workers of Dask's own deployers, and leases: what their scheduler gets, and what a worker's process is.

This module runs where they do, so their image has the course in it.
"""

import asyncio
import weakref
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from distributed import Nanny, Scheduler, WorkerPlugin

from course.cluster.chief_lease import Leases
from course.cluster.local_runtime.scheduler import PinsByName
from course.cluster.task.placement import Executors
from course.cluster.task.task import TaskWorker

#: At how many ports a worker and a parameter server in it may listen: one opens while the one before it still closes.
WORKER_PORTS = 3


class NamedTasks(PinsByName):
    """A scheduler's plugin: gives each worker that joins the first of `tasks` that nobody has, and keeps leases.

    A worker that comes back under the name that its deployer gave it gets the task that it was.
    """

    name = "course-tasks"

    def __init__(self, tasks: Sequence[str]):
        self._tasks = tuple(tasks)
        self._before: dict[str, str] = {}  # the deployer's name of a worker -> the task that it was last

    async def start(self, scheduler: Scheduler) -> None:
        """Name the workers that are there, and answer for leases (Dask calls this).

        For a training it imports torch first: the scheduler reads the work that comes by, and would be silent so long.
        """
        if any(task.startswith("/job:ps/") for task in self._tasks):
            await asyncio.to_thread(import_module, "torch")
        leases = Leases()
        scheduler.handlers |= {"lease": leases.ask, "release_lease": leases.release}
        self._name_all(scheduler)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Name the worker, and send it what is pinned to its task."""
        self._name_all(scheduler)
        super().add_worker(scheduler, worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Give the task of the worker that has left to one without a task."""
        self._name_all(scheduler)

    def _name_all(self, scheduler):
        for address, state in scheduler.workers.items():
            free = [task for task in self._tasks if task not in scheduler.aliases]
            if free and state.name not in self._tasks:
                before = self._before.get(state.name)
                task = self._before[state.name] = before if before in free else free[0]
                scheduler.aliases.pop(state.name, None)
                state.name, scheduler.aliases[task] = task, address


class TaskParts(WorkerPlugin):
    """A worker's plugin: gives one of Dask's own, as a gateway starts them, what a `TaskWorker` has."""

    name = "course-task-parts"

    def setup(self, worker: Any) -> None:
        """Add them (Dask calls this)."""
        if not isinstance(worker, TaskWorker):
            worker.executors, worker.ports, worker.routes = Executors(worker, worker.executors), (0,), None
            worker.leavers, worker.leaving = weakref.WeakSet(), False


class TaskNanny(Nanny):
    """Dask's keeper of one worker's process, which is a `TaskWorker`."""

    def __init__(self, *arguments: Any, **settings: Any):
        super().__init__(*arguments, **{**settings, "worker_class": TaskWorker})
