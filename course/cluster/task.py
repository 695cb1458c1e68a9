"""What runs inside a task's process: a Dask worker with a task's name, a fixed port, and a fair share of the cores."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass

from distributed import Worker

from course.cluster.certificates import Certificate, security
from course.cluster.placing import Executors


@dataclass(frozen=True)
class TaskSettings:
    """Everything that a task's process must know; plain data, sent to it as JSON.

    `threads`: for PyTorch's operations inside one function; `scratch`: the folder for spilled data; `log`: the file for
    what the task prints; `path`, `folder`: where Python looks for modules and for files, as in the owner's process.
    """

    name: str
    scheduler: str
    host: str
    port: int
    threads: int
    scratch: str
    certificate: Certificate | None = None
    log: str | None = None
    path: tuple[str, ...] = ()
    folder: str | None = None


def task_settings(data):
    """Return the `TaskSettings` that `dataclasses.asdict` and JSON turned into `data`."""
    certificate = data["certificate"] and Certificate(**data["certificate"])
    return TaskSettings(**{**data, "certificate": certificate, "path": tuple(data["path"])})


def run_task(settings):
    """Run one task until it is told to stop; return the exit code of its process."""
    if settings.path:
        sys.path[:] = settings.path
    if settings.folder and os.path.isdir(settings.folder):
        os.chdir(settings.folder)
    if settings.log:
        _write_to(settings.log)
    import torch

    torch.set_num_threads(settings.threads)
    return asyncio.run(_serve(settings))


def _write_to(log):
    """Send standard output and error to the file `log`, and give the process an empty standard input."""
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, ours in ((nothing, 0), (target, 1), (target, 2)):
        os.dup2(source, ours)
    os.close(target)
    os.close(nothing)
    sys.stdout.reconfigure(line_buffering=True)


class TaskWorker(Worker):
    """A Dask worker without its status page: one open port less a task."""

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.executors = Executors(self.executors)

    def start_http_server(self, routes, dashboard_address, default_port=0, ssl_options=None):
        self.http_server = None


async def _serve(settings, announce=None):
    worker = TaskWorker(
        settings.scheduler,
        name=settings.name,
        nthreads=1,
        host=settings.host,
        port=settings.port,
        protocol="tls" if settings.certificate else "tcp",
        security=security(settings.certificate),
        local_directory=settings.scratch,
        death_timeout=30,  # seconds to find the scheduler in
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        if sys.platform != "win32":
            loop.add_signal_handler(number, lambda: asyncio.ensure_future(worker.close()))
    await worker
    if announce:
        announce(worker)
    await worker.finished()
    return 0
