"""Dask's scheduler with leases, and without what a course does not need: a web page, a watch by the wall clock."""

from typing import Any

import dask
from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from course.cluster.chief_lease import Leases
from course.cluster.task.task import LOOP_KEEPS_UP_EVERY

LOOPBACK = "127.0.0.1"
#: How many processes may die under one function before Dask gives it up; by default 3, few where killing is a lesson.
_DEATHS_OF_WORK = 10
# Dask's own watch over workers goes by the wall clock: one that jumps would end them all.
_SETTINGS = {"distributed.scheduler.worker-ttl": None, "distributed.admin.tick.interval": f"{LOOP_KEEPS_UP_EVERY} s"}


class LocalScheduler(Scheduler):
    """A Dask scheduler that keeps leases, and serves no web page unless `dashboard` is true."""

    def __init__(self, dashboard: bool, **settings: Any):
        with dask.config.set(_SETTINGS):
            super().__init__(
                dashboard=dashboard,
                dashboard_address=f"{LOOPBACK}:0" if dashboard else None,
                allowed_failures=_DEATHS_OF_WORK,
                **settings,
            )
        leases = Leases()
        self.handlers |= {"lease": leases.ask, "release_lease": leases.release}
        self.add_plugin(PinsByName())

    def start_http_server(self, routes: Any, dashboard_address: str | None, *more: Any, **settings: Any) -> None:
        """Open Dask's web page where it was asked for: one port less to guard where it was not."""
        self.http_server = None
        if dashboard_address:
            super().start_http_server(routes, dashboard_address, *more, **settings)


class PinsByName(SchedulerPlugin):
    """Sends work that is pinned to a task to wherever a task of this name joins.

    Dask turns the name into an address when the work is submitted; where the task is away just then, into a host of
    that name, which is any task on the same machine once it is back.
    """

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Send it there (Dask calls this)."""
        name = scheduler.workers[worker].name
        for state in scheduler.tasks.values():
            if (state.annotations or {}).get("workers") == [name]:
                state.worker_restrictions, state.host_restrictions = {worker}, None
