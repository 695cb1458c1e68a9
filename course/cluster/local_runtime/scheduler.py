"""Our schedulers: Dask's with leases, and for tasks that are started by hand a greeting and a watch over them too."""

import asyncio

import dask
from distributed import Scheduler

from course.cluster.multihost.handshake import answer_hello, versions
from course.cluster.multihost.lease import Leases
from course.cluster.multihost.worker_heartbeat import Watch
from course.deadlines import PINNED_WORK_WAITS

LOOPBACK = "127.0.0.1"
#: How many processes may die under one function before Dask gives it up; by default 3, few where killing is a lesson.
_DEATHS_OF_WORK = 10


class LocalScheduler(Scheduler):
    """A Dask scheduler that keeps leases, and serves no web page unless `dashboard` is true."""

    def __init__(self, dashboard, **settings):
        # Dask's own watch over workers goes by the wall clock: one that jumps would end them all.
        with dask.config.set({"distributed.scheduler.worker-ttl": None}):
            super().__init__(
                dashboard=dashboard,
                dashboard_address=f"{LOOPBACK}:0" if dashboard else None,
                allowed_failures=_DEATHS_OF_WORK,
                **settings,
            )
        leases = Leases()
        self.handlers |= {"lease": leases.ask, "release_lease": leases.release}

    def start_http_server(self, routes, dashboard_address, default_port=0, ssl_options=None):
        self.http_server = None
        if dashboard_address:
            super().start_http_server(routes, dashboard_address, default_port, ssl_options)


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
            "hello": self.hello,
            "beat": self.watch.beat,
        }

    def identity(self, n_workers=-1):
        """Dask's description of the cluster, with our versions and the spec's jobs."""
        return {**super().identity(n_workers), "course": {"versions": versions(), "jobs": self.spec.as_dict()}}

    def hello(self, name, address, versions):
        """Say whether the task `name` may join."""
        return answer_hello(self, name, address, versions)

    async def start_unsafe(self):
        await super().start_unsafe()
        self._watching = asyncio.create_task(self.watch.run())
        return self

    async def close(self, *arguments, **settings):
        if self._watching:
            self._watching.cancel()
        await super().close(*arguments, **settings)
