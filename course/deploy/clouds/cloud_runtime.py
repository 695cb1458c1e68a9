"""A cluster of one of Dask's deployers as `Cluster` sees it: how it starts, what its workers lack, how it ends."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partialmethod
from typing import Any, NoReturn

from distributed import Client
from distributed.core import rpc

from course.cluster.executor import OpenWork
from course.cluster.multihost.handshake import other_versions, versions
from course.cluster.multihost.heartbeat import watch_scheduler
from course.cluster.routes import Routes, found_at
from course.deadlines import (
    CLIENT_ASKS_EVERY,
    CLIENT_CLOSES,
    CONNECT,
    HANDSHAKE_ANSWER,
    JOIN_AGAIN_EVERY,
    SCHEDULER_SILENCE,
)
from course.deploy.clouds.deployer import Deployer
from course.deploy.clouds.named_tasks import NamedTasks, TaskParts
from course.deploy.deployed_runtime import CARETAKER_LOOKS_EVERY
from course.deploy.deployment import Deployment
from course.deploy.launcher import DeployError
from course.deploy.ledger import Entry
from course.deploy.lost_tasks import DEPLOYED_LOOKS_EVERY

#: Seconds for a parameter server's task to answer this process, once it has joined.
PS_REACHED = 8.0
#: Seconds for the process that ends what a killed client left, of any kind.
LEFTOVER_ENDS = 200.0

_LOG = logging.getLogger(__name__)
#: One run of what ends a cluster is enough: none of it is on its way into a queue.
_SECONDS = {"looks_every": CARETAKER_LOOKS_EVERY, "ends": 0.1, "ends_every": 0.1, "answers": LEFTOVER_ENDS}
_IMAGE = "An image with the course and torch has it"
_DRIVER = "This process drives a training and must reach it: run this inside of that network, or deploy without ps="
_ENDED = "this cluster is closed: it was ended by `python -m course deploy stop`"


class CloudRuntime(Deployment):
    """The workers that `deployer` starts, as the tasks of `entry`; see `course.cluster.runtime.Runtime`."""

    _still_there = "may run on: {error}. `python -m course deploy list` knows it"

    def __init__(self, entry: Entry, deployer: Deployer, say: Callable[..., None]):
        super().__init__(entry, say)
        self._deployer = deployer
        self._client: Any = None
        self._last_line = ""  # about workers that wait
        self._reached: set[str] = set()  # addresses of ps tasks to which ways were opened

    def start(self, timeout: float | None, wait: bool) -> Client:
        """Start everything and return a client; with `wait`, when all workers are there. Raises as `deploy` does."""
        deadline = time.monotonic() + (timeout or float("inf"))
        self._open_loop()
        self.thread.run(self._start, timeout)
        _LOG.info("the scheduler of %s on %s answers at %s", self._entry.name, self.kind, self.session_target)
        own = self._deployer.security
        self._client = Client(self.session_target, security=own, loop=self.thread.loop, timeout=CONNECT)
        self._check_versions()
        try:
            self._client.register_plugin(TaskParts())
            self._client.register_plugin(NamedTasks(self.tasks))
        except ImportError as error:
            raise DeployError(f"deploy({self.kind!r}): its scheduler lacks what ps= needs: {error}. {_IMAGE}") from None
        while wait and (missing := self.missing()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"deploy(timeout={timeout:g}): {len(missing)} workers are not there yet")
            self._tell(self.thread.run(self._deployer.waiting))
            time.sleep(DEPLOYED_LOOKS_EVERY / 4)
        self._check_versions()
        self.thread.run(self._reach, True)
        _LOG.info("%s has its workers, but for %d", self._entry.name, len(self.missing()))
        return self._client

    async def _start(self, timeout):
        self._starting = asyncio.current_task()
        try:
            async with asyncio.timeout(timeout):
                await self._deployer.prepare()
                leftover = self._deployer.leftover()
                command = (sys.executable, "-m", "course.deploy.clouds", self.kind, json.dumps(leftover))
                self._write_down([] if leftover is None else [command], _SECONDS)
                await self._open()
        except TimeoutError:
            raise TimeoutError(
                f"deploy(timeout={timeout}): its scheduler is not there yet; nothing of it stays"
            ) from None

    async def _open(self):
        """Open the cluster; meanwhile say why it takes long."""
        opening = asyncio.ensure_future(self._deployer.open())
        try:
            while not (await asyncio.wait([opening], timeout=DEPLOYED_LOOKS_EVERY))[0]:
                self._tell(await self._deployer.waiting())
        finally:
            opening.cancel()
            await asyncio.wait([opening])
        opening.result()
        try:
            await asyncio.wait_for(_answer_of(self.session_target, self._deployer.security, n_workers=0), CONNECT)
        except TimeoutError:
            silent = f"the scheduler has started, and {self.session_target} has not answered for {CONNECT:.0f} s"
            raise DeployError(f"{silent}; does no firewall keep us out?") from None

    async def _reach(self, check=False):
        """Have ways opened to where the ps tasks are now; with `check`, raise DeployError for one that is silent."""
        if not any(task.startswith("/job:ps/") for task in self.tasks):
            return
        listed = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        ps = {where: worker["name"] for where, worker in listed.items() if worker["name"].startswith("/job:ps/")}
        if ps.keys() <= self._reached:
            return
        await self._deployer.reach(ps)
        self._reached = set(ps)
        for address, task in ps.items() if check else ():
            try:
                answer = _answer_of(found_at(address, self.route), self._deployer.security)
                await asyncio.wait_for(answer, PS_REACHED)
            except TimeoutError:
                silent = f"{task} listens at {address}, and did not answer this process within {PS_REACHED:.0f} s"
                raise DeployError(f"deploy({self.kind!r}, ps=…): {silent}. {_DRIVER}") from None

    @property
    def route(self) -> Routes | None:  # type: ignore[override]
        """How this process reaches the addresses that the workers announce; see `Cluster.route`."""
        return self._deployer.route

    def _tell(self, line):
        if line and line != self._last_line:
            self._last_line = line
            _LOG.info("%s: %s", self._entry.name, line)
            self._say(line, flush=True)

    def _check_versions(self):
        """Raise DeployError where a worker has other versions, or not the course: its calls would fail."""
        reported = self._client.get_versions(packages=("course", "torch"))
        members = {address: _versions_of(report) for address, report in reported["workers"].items()}
        scheduler = _versions_of(reported["scheduler"])  # it names the tasks, and has no use for torch
        members["the scheduler"] = versions() | {name: scheduler[name] for name in ("course", "distributed", "python")}
        for member, theirs in members.items():
            if other := other_versions(theirs, (member, "this process")):
                raise DeployError(f"deploy({self.kind!r}): {other}; an image with the course has them")

    @property
    def session_target(self) -> str:
        """The scheduler's address."""
        return self._deployer.address

    @property
    def dashboard_link(self) -> str | None:
        """Where Dask's dashboard answers; None when it is off."""
        return self._deployer.dashboard_link

    def missing(self) -> list[str]:
        """Return the tasks that have not joined, or have left; all of them where the scheduler doesn't answer."""
        members = self._addresses()
        return [task for task in self.tasks if task not in members]

    def _addresses(self):
        workers: dict[str, Any] = {}
        with suppress(OSError):
            identity = self._client.scheduler.identity
            workers = self._client.sync(identity, n_workers=-1, callback_timeout=SCHEDULER_SILENCE)["workers"]
        return {worker["name"]: address for address, worker in workers.items()}

    def log(self, task: str) -> str:
        """Return what the scheduler and all workers printed, as far as the system has it."""
        return self.thread.run(self._deployer.log)

    def address(self, task: str) -> str:
        """Return where `task` listens, `host:port`, in its own network; RuntimeError where it is away.

        Of a gateway, too: its scheduler is found by its proxy's path, which no `ClusterSpec` can name.
        """
        if self.session_target.startswith("gateway://"):
            raise RuntimeError(f"cluster.spec: {self.session_target} is no host:port; connect through the gateway")
        members = self._addresses()
        if task not in members:
            raise RuntimeError(f"{task} is not there: its machine has not joined yet, or was lost")
        return members[task].partition("://")[2]

    def _refuse(self, _: object, method: str) -> NoReturn:
        """Raise RuntimeError: none of Dask's deployers sends a signal to a process."""
        raise RuntimeError(
            f"cluster.{method}: no process of deploy({self.kind!r}) gets a signal from here, for Dask's own deployer "
            "started it. deploy('slurm') and deploy('ssh') have that"
        )

    signal = _refuse
    restart = partialmethod(_refuse, method="restart")

    def watch(self, client: Client, work: OpenWork) -> Callable[[], object]:
        """Close `work` when the scheduler is gone or `deploy stop` was said; return the function that ends this."""
        return asyncio.run_coroutine_threadsafe(self._watch(client, work), self.thread.loop.asyncio_loop).cancel

    async def _watch(self, client, work):
        advice = "it has had no work for too long, or was ended: deploy it again"
        watching = asyncio.ensure_future(watch_scheduler(client, work, self.session_target, advice))
        try:
            while not watching.done():
                await asyncio.wait([watching], timeout=CLIENT_ASKS_EVERY)
                with suppress(OSError, DeployError):  # the next look may see more
                    await self._reach()
                if not self._entry.folder.exists():
                    work.close(_ENDED)
                    with suppress(DeployError):  # another shell ends it, too
                        await self._deployer.close()
                    return
        finally:
            watching.cancel()

    def _close(self):
        if self._client:
            self._client.close(timeout=CLIENT_CLOSES)
        super()._close()

    async def _end(self):
        await self._deployer.close()


async def _answer_of(address, security, **question):
    """Return once a Dask process says who it is: a way through a proxy may be there before its other end is."""
    connection = security.get_connection_args("client") if security else None
    while True:
        with suppress(OSError):
            async with rpc(address, connection_args=connection, timeout=HANDSHAKE_ANSWER) as process:
                return await process.identity(**question)
        await asyncio.sleep(JOIN_AGAIN_EVERY)


def _versions_of(report):
    """Return the versions in Dask's report of a process's packages as `versions` writes them."""
    packages = (report or {}).get("packages", {})
    numbers = {name: str(packages.get(name)).partition("+")[0] for name in versions()}
    return numbers | {"python": ".".join(str(packages.get("python")).split(".")[:2])}
