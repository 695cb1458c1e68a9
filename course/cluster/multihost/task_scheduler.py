"""The scheduler of tasks that are started by hand: it answers their handshake and counts out those that are silent."""

import asyncio

import dask

from course.cluster.local_runtime.scheduler import LocalScheduler
from course.cluster.multihost.handshake import answer_handshake, versions
from course.cluster.multihost.task_heartbeat import Watch
from course.deadlines import PINNED_WORK_WAITS


class TaskScheduler(LocalScheduler):
    """The scheduler of tasks that are started one by one, those of `spec`; `say` gets lines for the reader.

    Pinned work whose task stays away fails after a while, where Dask would wait for ever.
    """

    def __init__(self, spec, say, **settings):
        with dask.config.set({"distributed.scheduler.no-workers-timeout": PINNED_WORK_WAITS}):
            super().__init__(False, **settings)
        self.spec, self.say = spec, say
        self.watch, self._watching = Watch(self, say), None
        self.add_plugin(self.watch)
        self.handlers |= {
            "handshake": self.handshake,
            "task_heartbeat": self.watch.heartbeat,
        }

    def identity(self, n_workers=-1):
        """Dask's description of the cluster, with our versions and the spec's jobs."""
        return {**super().identity(n_workers), "course": {"versions": versions(), "jobs": self.spec.as_dict()}}

    def handshake(self, name, address, versions):
        """Say whether the task `name` may join."""
        return answer_handshake(self, name, address, versions)

    async def start_unsafe(self):
        await super().start_unsafe()
        self._watching = asyncio.create_task(self.watch.run())
        return self

    async def close(self, *arguments, **settings):
        if self._watching:
            self._watching.cancel()
        await super().close(*arguments, **settings)
