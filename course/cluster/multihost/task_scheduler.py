"""The scheduler of tasks that are started by hand: it answers their handshake and counts out those that are silent."""

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

import dask

from course.cluster.local_runtime.scheduler import LocalScheduler
from course.cluster.multihost.handshake import other_versions, versions
from course.cluster.multihost.heartbeat import Watch
from course.cluster.routes import RoutedPool, Routes
from course.cluster.spec import ClusterSpec

_LOG = logging.getLogger(__name__)
#: A task heard this lately is alive: another process that wants its name is refused, not asked to wait.
TASK_HEARD_LATELY = 1.5
#: Work that is pinned to a task waits so long for it to come back.
PINNED_WORK_WAITS = 30.0


class TaskScheduler(LocalScheduler):
    """The scheduler of tasks that are started one by one, those of `spec`; `say` gets lines for the reader.

    `routes`: how it finds the tasks, where that is not straight.
    Pinned work whose task stays away fails after a while, where Dask would wait for ever.
    """

    def __init__(
        self, spec: ClusterSpec | None, say: Callable[..., None], *, routes: Routes | None = None, **settings: Any
    ):
        with dask.config.set({"distributed.scheduler.no-workers-timeout": self.pinned_work_waits}):
            super().__init__(False, **settings)
        if routes:
            self.rpc = RoutedPool(self.rpc, routes)
        self.spec, self.say = spec, say
        self.watch = Watch(self, say)
        self._watching: asyncio.Task | None = None
        self.add_plugin(self.watch)
        self.handlers |= {"handshake": self.handshake, "task_heartbeat": self.watch.heartbeat}

    @property
    def pinned_work_waits(self) -> float | None:
        """Seconds that pinned work waits for its task; None: as long as it takes."""
        return PINNED_WORK_WAITS

    def identity(self, n_workers: int = -1) -> dict[str, Any]:
        """Dask's description of the cluster, with this process's versions and the jobs."""
        return {**super().identity(n_workers), "course": {"versions": versions(), "jobs": self.jobs()}}

    def jobs(self) -> dict[str, list[str]]:
        """Return the spec's jobs, each with the addresses of its tasks."""
        return self.spec.as_dict() if self.spec else {}

    def unexpected(self, name: str, address: str) -> str | None:
        """Return why there is to be no task `name` at `address`, as a sentence, or None."""
        return _other_spec(self.spec, name, address)

    def handshake(self, name: str, address: str, versions: dict[str, str]) -> dict[str, Any]:
        """Say whether the task `name` may join: {"refused": a sentence or None, "wait": may asking again help?}."""
        refused = other_versions(versions, ("this task", "the scheduler")) or self.unexpected(name, address)
        if refused:
            _LOG.info("refused %s from %s: %s", name, address, refused)
            self.say(f"refused {name} from {address}: {refused}", file=sys.stderr, flush=True)
            return {"refused": refused, "wait": False}
        member = self.workers.get(self.aliases.get(name, ""))
        if member is None:
            return {"refused": None, "wait": True}
        taken = (
            f"{name} is already a member, process {member.pid} at {member.address}. Stop that one first, or start this "
            "one with another --index"
        )
        return {"refused": taken, "wait": self.watch.silence(member.address) >= TASK_HEARD_LATELY}

    async def start_unsafe(self) -> "TaskScheduler":
        """Start as Dask's scheduler does, and begin to look for tasks that are silent."""
        await super().start_unsafe()
        self._watching = asyncio.create_task(self.watch.run())
        return self

    async def close(self, *arguments: Any, **settings: Any) -> None:
        """Close as Dask's scheduler does, and look no more."""
        if self._watching:
            self._watching.cancel()
        await super().close(*arguments, **settings)


def _other_spec(spec, name, address):
    job, index = name.split("/")[1].removeprefix("job:"), int(name.rpartition(":")[2])
    try:
        expected = spec.task_address(job, index)
    except (ValueError, IndexError) as error:
        return f"the scheduler's spec has no {name}: {error}. Give every member the same spec"
    if expected != address:
        return (
            f"{name} is {address} in this task's spec, {expected} in the scheduler's. Give every member the same spec"
        )
    return None
