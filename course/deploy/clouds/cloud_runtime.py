"""What a cloud's cluster opens and must close: an event loop, a deployer's cluster, its caretaker, a ledger's entry."""

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partialmethod
from typing import Any, NoReturn

from distributed import Client
from distributed.core import rpc

from course.cluster.executor import OpenWork
from course.cluster.local_runtime.loop import LoopThread
from course.cluster.multihost.handshake import other_versions, versions
from course.cluster.multihost.heartbeat import watch_scheduler
from course.deadlines import (
    CLIENT_ASKS_EVERY,
    CLIENT_CLOSES,
    CONNECT,
    HANDSHAKE_ANSWER,
    JOIN_AGAIN_EVERY,
    SCHEDULER_SILENCE,
)
from course.deploy.clouds.cloud_cluster import lacks
from course.deploy.clouds.deployer import Deployer
from course.deploy.deployed_runtime import CARETAKER_LOOKS_EVERY
from course.deploy.killed_client import Caretaker
from course.deploy.launcher import DeployError
from course.deploy.ledger import Entry
from course.deploy.lost_tasks import DEPLOYED_LOOKS_EVERY

#: For the process that ends what a killed client left, of any kind.
LEFTOVER_ENDS = 200.0

#: One run of what ends a cluster is enough: none of it is on its way into a queue.
_SECONDS = {"looks_every": CARETAKER_LOOKS_EVERY, "ends": 0.1, "ends_every": 0.1, "answers": LEFTOVER_ENDS}
_ENDED = "this cluster is closed: it was ended by `python -m course deploy stop`"


class CloudRuntime:
    """The workers that `deployer` starts, `entry.tasks` of them; see `course.cluster.runtime.Runtime`.

    The tasks' names are no more than a count: Dask's deployers name their workers themselves.
    """

    def __init__(self, entry: Entry, deployer: Deployer, say: Callable[..., None]):
        self._entry, self._deployer, self._say = entry, deployer, say
        self.kind, self.tasks = entry.kind, list(entry.tasks)
        self.thread: Any = None
        self._client: Any = None
        self._starting: Any = None
        self._undone = False  # whether it could not be ended
        self._said = ""  # last, about workers that wait
        self._opened = ExitStack()

    def start(self, timeout: float | None, wait: bool) -> Client:
        """Start everything and return a client; with `wait`, when all workers are there. Raises as `deploy` does."""
        deadline = time.monotonic() + (timeout or float("inf"))
        self.thread = LoopThread()
        self.thread.run(self._start, timeout)
        own = self._deployer.security
        self._client = Client(self.session_target, security=own, loop=self.thread.loop, timeout=CONNECT)
        while wait and (missing := self.missing()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"deploy(timeout={timeout:g}): {len(missing)} workers are not there yet")
            self._tell(self.thread.run(self._deployer.waiting))
            time.sleep(DEPLOYED_LOOKS_EVERY / 4)
        self._check_versions()
        return self._client

    async def _start(self, timeout):
        self._starting = asyncio.current_task()
        try:
            async with asyncio.timeout(timeout):
                await self._deployer.prepare()
                self._write_down()
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
            await asyncio.wait_for(_answer_of(self.session_target, self._deployer.security), CONNECT)
        except TimeoutError:
            silent = f"the scheduler has started, and {self.session_target} has not answered for {CONNECT:.0f} s"
            raise DeployError(f"{silent}; does no firewall keep us out?") from None

    def _write_down(self):
        """Put the cluster into the ledger, and a caretaker beside it, before there is anything to forget."""
        left = self._deployer.leftover()
        command = (sys.executable, "-m", "course.deploy.clouds", self.kind, json.dumps(left))
        commands = () if left is None else (command,)
        self._entry = dataclasses.replace(self._entry, leftovers=commands)
        self._opened.callback(self._entry.remove)
        self._entry.write()
        caretaker = Caretaker(str(self._entry.folder), list(map(list, commands)), _SECONDS)
        self._opened.callback(lambda: caretaker.dismiss(done=not self._undone))

    def _tell(self, line):
        if line and line != self._said:
            self._said = line
            self._say(line, flush=True)

    def _check_versions(self):
        """Raise DeployError where a worker has other versions, or not the course: its calls would fail."""
        told = self._client.get_versions(packages=("course", "torch"))
        members = {address: _versions_of(one) for address, one in told["workers"].items()}
        scheduler = _versions_of(told["scheduler"])  # it runs none of our functions
        members["the scheduler"] = versions() | {name: scheduler[name] for name in ("distributed", "python")}
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
        """Return as many tasks as there are workers missing, all of them where the scheduler doesn't answer."""
        workers: Any = ()
        with suppress(OSError):
            asked = self._client.scheduler.identity
            workers = self._client.sync(asked, n_workers=-1, callback_timeout=SCHEDULER_SILENCE)["workers"]
        return self.tasks[len(workers) :]

    def log(self, task: str) -> str:
        """Return what the scheduler and all workers printed, as far as the system tells it."""
        return self.thread.run(self._deployer.log)

    def address(self, task: str) -> NoReturn:
        """Raise RuntimeError: a worker can't be reached from here."""
        lacks("cluster.spec", self.kind)

    def _refuse(self, _: object, method: str) -> NoReturn:
        """Raise RuntimeError: a process can't be told by name, and no deployer of Dask's sends it signals."""
        lacks(f"cluster.{method}", self.kind)

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
                if not self._entry.folder.exists():
                    work.close(_ENDED)
                    with suppress(DeployError):  # another shell ends it, too
                        await self._deployer.close()
                    return
        finally:
            watching.cancel()

    def close(self) -> None:
        """End the cluster and the loop; take the entry from the ledger. May be called again."""
        with self._opened:
            if self.thread and self.thread.is_alive():
                try:
                    self._end()
                finally:
                    self.thread.stop()

    def _end(self):
        if self._client:
            self._client.close(timeout=CLIENT_CLOSES)
        try:
            self.thread.run(self._stop)
        except DeployError as error:
            self._undone = True
            self._say(f"{self._entry.name} is closed, and may run on: {error}. `python -m course deploy list` knows it")

    async def _stop(self):
        if self._starting and not self._starting.done():  # an interrupt got deploy() while it waited
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await self._deployer.close()


async def _answer_of(address, security):
    """Return once the scheduler answers: a way through a proxy may be there before its other end is."""
    connection = security.get_connection_args("client") if security else None
    while True:
        with suppress(OSError):
            async with rpc(address, connection_args=connection, timeout=HANDSHAKE_ANSWER) as scheduler:
                return await scheduler.identity(n_workers=0)
        await asyncio.sleep(JOIN_AGAIN_EVERY)


def _versions_of(told):
    """Return what Dask tells of a process's packages as `versions` writes it."""
    packages = (told or {}).get("packages", {})
    found = {name: str(packages.get(name)).partition("+")[0] for name in versions()}
    return found | {"python": ".".join(str(packages.get("python")).split(".")[:2])}
