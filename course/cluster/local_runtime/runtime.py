"""What `local_cluster` opens and must close: an event loop, the scheduler, the tasks' processes, a private folder."""

import asyncio
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from dask.system import CPU_COUNT  # knows about containers' limits
from distributed import Client

from course.cluster.certificates import new_certificate, security
from course.cluster.executor import OpenWork
from course.cluster.local_runtime.loop import LoopThread
from course.cluster.local_runtime.process import preload
from course.cluster.local_runtime.scheduler import LocalScheduler
from course.cluster.local_runtime.supervisor import Supervisor
from course.cluster.task.gpu_share import VARIABLE, gpus_of_tasks, visible_gpus
from course.cluster.task.task import TaskSettings

HOST = "127.0.0.1"
_LOG = logging.getLogger(__name__)
_SIGNALS = {"kill": "SIGTERM" if os.name == "nt" else "SIGKILL", "freeze": "SIGSTOP", "thaw": "SIGCONT"}


class LocalRuntime:
    """The processes behind a local cluster. `ports`: job -> the port of each task, 0 for any.

    `simulated_gpus`: count and model of each task's simulated GPUs, None for none.
    """

    route = None

    def __init__(self, ports: dict[str, list[int]], dashboard: bool, simulated_gpus: tuple[int, str] | None = None):
        jobs = {job: them for job, them in ports.items() if job != "scheduler"}
        self._ports = {f"/job:{job}/task:{i}": port for job, them in jobs.items() for i, port in enumerate(them)}
        self._scheduler_port = ports.get("scheduler", [0])[0]
        self._dashboard, self._simulated_gpus = dashboard, simulated_gpus
        self.tasks = list(self._ports)
        self._certificate = new_certificate(days=30)
        self.security = security(self._certificate)
        # made by `start`, one after the other
        self.thread: Any = None
        self._starting: Any = None
        self._scheduler: Any = None
        self._supervisor: Any = None
        self._folder: Any = None
        self._opened = ExitStack()

    def start(self) -> None:
        """Start everything and wait until every task has joined."""
        preload()
        self._folder = Path(tempfile.mkdtemp(prefix="course-cluster-"))
        self._opened.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self.thread = LoopThread()
        self._opened.callback(self.thread.stop)
        self.thread.run(self._start)

    async def _start(self):
        self._starting = asyncio.current_task()
        where = {"host": HOST, "port": self._scheduler_port, "protocol": "tls"}
        self._scheduler = await LocalScheduler(self._dashboard, security=self.security, **where)
        _LOG.info("the scheduler listens at %s; %d tasks start", self._scheduler.address, len(self.tasks))
        self._supervisor = Supervisor(self._scheduler, self._settings())
        await self._supervisor.start()

    def _settings(self):
        gpus = gpus_of_tasks(self.tasks, visible_gpus())
        return [
            TaskSettings(
                name=name,
                scheduler=self._scheduler.address,
                host=HOST,
                port=port,
                threads=max(1, CPU_COUNT // len(self.tasks)),
                scratch=str(self._folder),
                certificate=self._certificate,
                simulated_gpus=self._simulated_gpus,
                log=str(self._log_file(name)),
                path=tuple(map(str, sys.path)),
                folder=os.getcwd(),
                environment=os.environ | ({VARIABLE: gpus[name]} if name in gpus else {}),
            )
            for name, port in self._ports.items()
        ]

    @property
    def session_target(self) -> str:
        """The scheduler's address, `tls://127.0.0.1:40001`."""
        return self._scheduler.address

    @property
    def dashboard_link(self) -> str | None:
        """Where Dask's dashboard answers, as a URL or a path below JupyterHub's; None when it is off."""
        if not self._dashboard:
            return None
        port = self._scheduler.http_server.port
        prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")  # behind a hub, only its proxy reaches this loopback
        return f"{prefix.rstrip('/')}/proxy/{port}/status" if prefix else f"http://{HOST}:{port}/status"

    def address(self, task: str) -> str:
        """Return where `task` listens, `host:port`."""
        return f"{HOST}:{self._supervisor.settings[task].port}"

    def missing(self) -> list[str]:
        """Return the tasks that are not there now: they died, and their successors are on the way."""
        return self.thread.run(self._supervisor.missing)

    def log(self, task: str) -> str:
        """Return what `task`, and its predecessors, printed."""
        path = self._log_file(task)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def _log_file(self, task):
        return self._folder / (task.strip("/").replace("/", "-").replace(":", "-") + ".log")

    def signal(self, task: str, method: str) -> None:
        """Kill, freeze or thaw the process of `task`; RuntimeError where the system has no such signal (Windows)."""
        name = _SIGNALS[method]
        if not hasattr(signal, name):
            raise RuntimeError(f"{task}: this system cannot freeze a process ({name} is POSIX's); kill it instead")
        self.thread.run(self._supervisor.signal, task, getattr(signal, name))

    def restart(self, tasks: list[str]) -> None:
        """End the processes of `tasks` and wait for their successors; RuntimeError when one cannot start."""
        self.thread.run(self._supervisor.restart, tasks)

    def watch(self, client: Client, work: OpenWork) -> Callable[[], object]:
        """Close `work` when a task cannot be replaced; return the function that ends this."""
        self._supervisor.on_giving_up = work.close
        return partial(setattr, self._supervisor, "on_giving_up", None)

    def close(self) -> None:
        """End the tasks, the scheduler and the loop; remove the folder. May be called again."""
        with self._opened:
            if self.thread and self.thread.is_alive():
                self.thread.run(self._stop)

    async def _stop(self):
        if self._starting and not self._starting.done():  # an interrupt got local_cluster() while it waited
            self._starting.cancel()
        if self._scheduler:
            _LOG.info("the cluster at %s closes", self._scheduler.address)
        # The tasks first, and at once: a scheduler that closes waits for workers that say goodbye.
        if self._supervisor:
            await self._supervisor.stop()
        if self._scheduler:
            await self._scheduler.close()
