"""What runs inside a task's process: a Dask worker with a task's name, a fixed port, and a fair share of the cores."""

import asyncio
import faulthandler
import os
import signal
import sys
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import dask
from distributed import Worker
from distributed.utils import parse_ports

from course.cluster.certificates import Certificate, security
from course.cluster.dask_log import quiet
from course.cluster.routes import Routes
from course.cluster.task.loop_errors import watch_errors
from course.cluster.task.placement import Executors

#: Between two looks of a Dask process whether its event loop keeps up. Dask's own 20 ms wake each process 50 times a
#: second, for a message that comes after 3 s: in a scheduler and three tasks, 3 % of two cores.
LOOP_KEEPS_UP_EVERY = 0.5
#: For a task to find its scheduler, once its process runs.
SCHEDULER_FOUND = 30.0
#: For a task's Dask worker to close; a function that still runs is not waited for.
WORKER_CLOSES = 2.0

# Dask samples every stack 100 times a second for a dashboard page; here that would disturb what is being timed.
_SETTINGS = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": f"{LOOP_KEEPS_UP_EVERY} s"}


@dataclass(frozen=True)
class TaskSettings:
    """Everything that a task's process must know; plain data, sent to it as JSON.

    - `scheduler`: its address; `host`, `port`: where to listen (0: any port; "4000:4100": one of these); `threads`: for
      PyTorch's operations inside one function; `scratch`: the folder for spilled data; `patience`: seconds to find the
      scheduler in; `certificate`: None for plain TCP; `simulated_gpus`: their count and model, None for none;
      `memory`: bytes that it may use, None for a share of the machine's.
    - `ports`: where its functions may listen, as "4000:4100"; None: where it may itself, if that is such a range, else
      anywhere. `routes`: of `Routes`. `advice`: what to do where there is no scheduler, in a sentence.
    - For a process that `local_cluster` starts, `log`: the file for what it prints; `path`, `folder`, `environment`:
      where Python looks for modules, for files, and its environment, as in the owner's process.
    """

    name: str
    scheduler: str
    host: str
    port: int | str
    threads: int
    scratch: str
    patience: float = SCHEDULER_FOUND
    certificate: Certificate | None = None
    simulated_gpus: tuple[int, str] | None = None
    log: str | None = None
    path: tuple[str, ...] = ()
    folder: str | None = None
    environment: dict[str, str] | None = None
    memory: int | None = None
    ports: str | None = None
    routes: dict[str, str] = field(default_factory=dict)
    advice: str = ""

    @property
    def scheduler_address(self) -> str:
        """Where the scheduler listens, `host:port`."""
        return self.scheduler.partition("://")[2]


def task_settings(data: dict[str, Any]) -> TaskSettings:
    """Return the `TaskSettings` that `dataclasses.asdict` and JSON turned into `data`."""
    certificate = data["certificate"] and Certificate(**data["certificate"])
    return TaskSettings(**{**data, "certificate": certificate, "path": tuple(data["path"])})


def run_task(settings: TaskSettings) -> int:
    """Run the task of a local cluster until it is told to stop; return the exit code of its process."""
    if settings.environment is not None:
        os.environ.clear()
        os.environ.update(settings.environment)
    if settings.path:
        sys.path[:] = settings.path
    if settings.folder and os.path.isdir(settings.folder):
        os.chdir(settings.folder)
    if settings.log:
        _write_to(settings.log)
    faulthandler.enable()  # a crash in C leaves its stack in the log
    quiet()
    try:
        with simulated(settings):
            asyncio.run(serve_task(settings))
    except (OSError, TimeoutError, RuntimeError, ValueError) as error:
        print(f"{settings.name} cannot join {settings.scheduler}: {root(error)}")
        return 1
    return 0


def _write_to(log):
    """Send standard output and error to the file `log`, and give the process an empty standard input."""
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (opened, 1), (opened, 2)):
        os.dup2(source, target)
    os.close(opened)
    os.close(nothing)
    sys.stdout.reconfigure(line_buffering=True)  # a killed task's last line is the one that matters


class Leaver(Protocol):
    """Something to do before a task that is told to end does so: a parameter server hands over what it has."""

    def leave(self, seconds: float) -> None:
        """Do what there is to do, in `seconds` at most."""


class TaskWorker(Worker):
    """A Dask worker with an executor for each device, and without a status page (one open port less).

    `ports`: those at which its functions may listen, 0 for any. `routes`: how they find other tasks, None: straight.
    `leavers`: what is to be done before the task leaves; once it is `leaving`, it says so to who asks.
    """

    def __init__(
        self,
        *args: Any,
        port: int | str | list[int] = 0,
        ports: str | None = None,
        routes: Routes | None = None,
        **settings: Any,
    ):
        super().__init__(*args, port=port, **settings)
        self.executors, self.routes = Executors(self, self.executors), routes
        self.ports = tuple(parse_ports(ports or (0 if isinstance(port, int) else port)))
        self.leavers: weakref.WeakSet[Leaver] = weakref.WeakSet()
        self.leaving = False

    @property
    def scheduler_delay(self) -> float:
        """Seconds by which the scheduler's clock is ahead; 0 on one machine, where Dask's heartbeats only guess."""
        return self._delay

    @scheduler_delay.setter
    def scheduler_delay(self, seconds: float) -> None:
        self._delay = seconds and (0.0 if _host(self.address) == _host(self.scheduler.address) else seconds)

    def identity(self) -> dict[str, Any]:
        """Say what Dask's worker says of itself, and whether it is about to leave."""
        return {**super().identity(), "leaving": self.leaving}

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Open no page."""
        self.http_server = None

    # Dask's three classes disagree on what `close` takes
    async def close(  # type: ignore[override]
        self, timeout: float = WORKER_CLOSES, executor_wait: bool = False, **how: Any
    ) -> str | None:
        """Close as Dask's worker does, which also closes itself when its scheduler is lost; wait for no function.

        Dask's waits half a minute for one that still runs, and the task could not join again meanwhile.
        """
        return await super().close(timeout=timeout, executor_wait=executor_wait, **how)


def _host(address):
    return address.partition("://")[2].rpartition(":")[0]


@contextmanager
def simulated(settings: TaskSettings) -> Iterator[None]:
    """Within the `with`, this process has the simulated GPUs of `settings`.

    It outlives `serve_task`: a function may go on while the task is away and joins again.
    """
    if settings.simulated_gpus is None:
        yield
        return
    from course.devices import simulated_gpus

    with simulated_gpus(*settings.simulated_gpus):
        yield


async def serve_task(
    settings: TaskSettings,
    stop: asyncio.Event | None = None,
    ready: Callable[[Worker], None] | None = None,
    alongside: Callable[[Worker], Awaitable[str]] | None = None,
) -> str | None:
    """Join the scheduler, call `ready(worker)`, and serve until the event `stop` is set or the scheduler ends.

    `stop`: by default one that SIGTERM and SIGINT set. Return None when it was told to stop, and otherwise why it
    ended, as text: the scheduler went away, or `alongside(worker)`, a coroutine that runs beside it, returned. Raise
    OSError or TimeoutError when there is no scheduler within `settings.patience` seconds.
    """
    import torch

    watch_errors()
    stop = stop or stop_signal()
    torch.set_num_threads(settings.threads)
    with dask.config.set(_SETTINGS):
        worker = TaskWorker(
            settings.scheduler,
            name=settings.name,
            nthreads=1,
            memory_limit=settings.memory or "auto",
            host=settings.host,
            port=settings.port,
            ports=settings.ports,
            routes=Routes(settings.routes) or None,
            protocol=settings.scheduler.partition("://")[0],
            security=security(settings.certificate),
            local_directory=settings.scratch,
            death_timeout=settings.patience,
        )
        try:
            if await stopped_before(stop, worker.start()):
                return None
            if ready:
                ready(worker)
            ends = [_then(stop.wait(), None), _then(worker.finished(), "lost its scheduler")]
            return await _first_of(*ends, *([alongside(worker)] if alongside else []))
        finally:
            await worker.close()


def root(error: BaseException) -> BaseException:
    """Return the error that `error` came from in the end, as Dask wraps one in another."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def stop_signal() -> asyncio.Event:
    """Return an `asyncio.Event` that SIGTERM and SIGINT set; on Windows, Ctrl-C raises KeyboardInterrupt instead."""
    stop = asyncio.Event()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def stopped_before(stop: asyncio.Event, work: Awaitable[Any]) -> bool:
    """Wait for the awaitable `work` or for `stop`; say whether `stop` came first; raise what `work` raises."""
    return await _first_of(_then(work, False), _then(stop.wait(), True))


async def _then(work, result):
    await work
    return result


async def _first_of(*works):
    """Return what the first of the awaitables returns, or raise what it raises; the earlier wins, the rest end."""
    doing = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(doing, return_when=asyncio.FIRST_COMPLETED)
        return next(work for work in doing if work.done()).result()
    finally:
        for work in doing:
            work.cancel()
