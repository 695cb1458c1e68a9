"""`python -m course task`: one task, or the scheduler, of a cluster whose members are started one by one."""

import asyncio
import sys
import tempfile

from dask.system import CPU_COUNT

from course.cluster.certificates import security
from course.cluster.quiet import quiet
from course.cluster.runtime import LocalScheduler
from course.cluster.task import TaskSettings, root, serve_task, stop_signal, stopped_before

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def serve(spec, job, index, certificate, patience=60.0, say=print):
    """Run task `index` of `job` in this process until SIGTERM or Ctrl-C; return the process's exit code, 0 then.

    `spec`: a `ClusterSpec` with a scheduler; `job="scheduler"` runs that. `certificate`: None for plain TCP, which is
    for loopback only. `patience`: seconds to wait for the scheduler, at the start and again whenever it is lost. `say`
    gets the lines for the reader: name, address and session target when the task is ready. Raises ValueError or
    IndexError for a job or task that the spec doesn't have.
    """
    address = spec.task_address(job, index)
    protocol = "tcp" if certificate is None else "tls"
    if spec.scheduler is None:
        raise ValueError('task: the spec names no scheduler; add a line such as scheduler = ["localhost:8786"]')
    if certificate is None and address.rpartition(":")[0] not in LOOPBACK:
        raise ValueError(f"task: {address} is not on loopback, and without TLS whoever reaches it can run code as you")
    target = f"{protocol}://{spec.scheduler}"
    quiet()
    host, _, port = address.rpartition(":")
    try:
        if job == "scheduler":
            return asyncio.run(_serve_scheduler(host, int(port), protocol, certificate, say))
        with tempfile.TemporaryDirectory(prefix="course-task-", ignore_cleanup_errors=True) as scratch:
            threads = max(1, CPU_COUNT // spec.local_share(address))
            name = f"/job:{job}/task:{index}"
            settings = TaskSettings(name, target, host, int(port), threads, scratch, patience, certificate)
            return asyncio.run(_serve_worker(settings, say))
    except KeyboardInterrupt:  # Windows, where asyncio takes no signal handlers
        return 0


async def _serve_scheduler(host, port, protocol, certificate, say):
    stop = stop_signal()
    try:
        scheduler = await LocalScheduler(False, host=host, port=port, protocol=protocol, security=security(certificate))
    except OSError as error:
        say(f"the scheduler cannot listen at {host}:{port}: {error}", file=sys.stderr)
        return 1
    say(f"the scheduler listens; session target {scheduler.address}", flush=True)
    try:
        return 0 if await stopped_before(stop, scheduler.finished()) else 1
    finally:
        await scheduler.close()


async def _serve_worker(settings, say):
    def ready(worker):
        say(f"{settings.name} listens at {worker.address}; session target {settings.scheduler}", flush=True)

    stop = stop_signal()
    while True:
        try:
            if await serve_task(settings, stop, ready):
                return 0
        except (OSError, TimeoutError, ValueError) as error:
            say(
                f"{settings.name} did not join {settings.scheduler} within {settings.patience:g} s: "
                f"{root(error) or type(error).__name__}. Is the scheduler up, with the same certificate?",
                file=sys.stderr,
            )
            return 1
        say(f"{settings.name} lost its scheduler; it waits {settings.patience:g} s for it to return", flush=True)
