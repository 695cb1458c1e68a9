"""A cluster on Slurm or over SSH as `Cluster` sees it: its scheduler, here, and the keeper of its tasks."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from distributed import Client
from distributed.utils import get_ip, get_ip_interface, parse_ports

from course.cluster.certificates import new_certificate, security
from course.cluster.executor import OpenWork
from course.cluster.multihost.ports import check_free
from course.deploy.deployment import Deployment
from course.deploy.launcher import DeployError, Launcher
from course.deploy.ledger import Entry
from course.deploy.lost_tasks import Keeper
from course.deploy.options import CommonOptions
from course.deploy.scheduler import DeployScheduler
from course.deploy.slurm_command import SLURM_ANSWERS

#: Seconds between two looks of the caretaker whether its client lives.
CARETAKER_LOOKS_EVERY = 0.5
#: Seconds between two of its attempts to end what a client left: a job may still be on its way into the queue.
CARETAKER_ENDS_EVERY = 2.0
#: Seconds for which it repeats them.
CARETAKER_ENDS = 8.0

_LOG = logging.getLogger(__name__)
_SIGNALS = {"kill": "KILL", "freeze": "STOP", "thaw": "CONT"}
_SECONDS = {
    "looks_every": CARETAKER_LOOKS_EVERY,
    "ends": CARETAKER_ENDS,
    "ends_every": CARETAKER_ENDS_EVERY,
    "answers": SLURM_ANSWERS,
}


class DeployedRuntime(Deployment):
    """The tasks of `entry`, which `launcher` starts; see `course.cluster.runtime.Runtime`."""

    dashboard_link = None
    _still_there = "its jobs may not be: {error}. They are ended when it answers"

    def __init__(self, entry: Entry, launcher: Launcher, options: CommonOptions, say: Callable[..., None]):
        super().__init__(entry, say)
        self._launcher, self._options = launcher, options
        self._certificate = new_certificate(days=30)
        self.security = security(self._certificate)
        self._scheduler: Any = None
        self._keeper: Any = None

    def start(self, timeout: float | None, wait: bool) -> None:
        """Start everything; with `wait`, return when every task has joined. Raises as `Keeper.start` does."""
        self._write_down(self._launcher.leftovers(), _SECONDS)
        self._open_loop()
        self.thread.run(self._start, timeout, wait)

    async def _start(self, timeout, wait):
        self._starting = asyncio.current_task()
        interface = self._options.interface
        host = self._options.host or (get_ip_interface(interface) if interface else get_ip())
        listening = {"host": host, "port": _free_port(host, self._options.ports), "protocol": "tls"}
        self._scheduler = await DeployScheduler(self.tasks, self._say, security=self.security, **listening)
        _LOG.info("the scheduler of %s on %s listens at %s", self._entry.name, self.kind, self.session_target)
        orders = [self._launcher.order(task, self.session_target, self._certificate) for task in self.tasks]
        idle, wanted = self._options.idle, self._entry.folder.exists
        self._keeper = Keeper(self._scheduler, self._launcher, orders, self._say, idle, wanted)
        await self._keeper.start(timeout, wait)

    @property
    def session_target(self) -> str:
        """The scheduler's address."""
        return self._scheduler.address

    def address(self, task: str) -> str:
        """Return where `task` listens, `host:port`; RuntimeError where it is away."""
        if task not in self._scheduler.addresses:
            raise RuntimeError(f"{task} is not there: its job waits, or has just been started")
        return self._scheduler.addresses[task]

    def missing(self) -> list[str]:
        """Return the tasks that have not joined: they wait in a queue, or were lost and are started again."""
        return self.thread.run(self._keeper.missing)

    def log(self, task: str) -> str:
        """Return what `task`, and its predecessors, printed."""
        return self._keeper.log(task)

    def signal(self, task: str, method: str) -> None:
        """Kill, freeze or thaw the process of `task`, through the system that started it."""
        self.thread.run(self._keeper.signal, task, _SIGNALS[method])

    def restart(self, tasks: list[str]) -> None:
        """End the tasks and wait for their successors."""
        self.thread.run(self._keeper.restart, tasks)

    def watch(self, client: Client, work: OpenWork) -> Callable[[], object]:
        """Close `work` when the cluster ends by itself; return the function that ends this."""
        self._keeper.on_end = work.close
        return partial(setattr, self._keeper, "on_end", None)

    async def _end(self):
        try:
            await (self._keeper.stop() if self._keeper else self._launcher.close())
        finally:
            if self._scheduler:
                await self._scheduler.close()


def _free_port(host, ports):
    """Return the first port of the range that the scheduler can listen at, 0 for any where there is no range."""
    for port in parse_ports(ports or 0):
        if port == 0:
            return 0
        with suppress(OSError):
            check_free(f"{host}:{port}")
            return port
    raise DeployError(f"all of ports={ports!r} are taken on {host}: a cluster needs one here. Give a wider range")
