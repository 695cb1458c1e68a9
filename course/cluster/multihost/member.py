"""One member of a cluster that is started by hand: a task, the scheduler, or a task with the scheduler beside it."""

import asyncio
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, repeat

from dask.system import CPU_COUNT

from course.cluster.certificates import Certificate, security
from course.cluster.multihost.handshake import request_handshake
from course.cluster.multihost.ports import check_free
from course.cluster.multihost.reachability import Refused
from course.cluster.multihost.refused_connections import refusals_told
from course.cluster.multihost.task_heartbeat import send_heartbeats
from course.cluster.multihost.task_scheduler import TaskScheduler
from course.cluster.spec import ClusterSpec
from course.cluster.task.gpu_share import VARIABLE, share_gpus
from course.cluster.task.task import TaskSettings, root, serve_task, stopped_before
from course.deadlines import TASK_WAITS

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Member:
    """Which task of which cluster a process is to be. `patience`: seconds to wait for the scheduler, each time.

    `certificate`: None for plain TCP. `with_scheduler`: whether the scheduler runs in this process too.
    `simulated_gpus`: count and model, None for none. `preload`: names of modules that a scheduler imports before it
    listens: it reads all work that comes by, and torch, imported with the first of it, would silence it for seconds.
    """

    spec: ClusterSpec
    job: str
    index: int
    certificate: Certificate | None
    patience: float = TASK_WAITS
    with_scheduler: bool = False
    simulated_gpus: tuple[int, str] | None = None
    preload: tuple[str, ...] = ("torch",)

    @property
    def name(self):
        return "the scheduler" if self.job == "scheduler" else f"/job:{self.job}/task:{self.index}"

    @property
    def address(self):
        return self.spec.task_address(self.job, self.index)

    @property
    def protocol(self):
        return "tcp" if self.certificate is None else "tls"

    @property
    def session_target(self):
        return f"{self.protocol}://{self.spec.scheduler}"


def member(spec, job, index, certificate, patience=TASK_WAITS, *, with_scheduler=None, **more):
    """Return the `Member` that these describe; raise ValueError or IndexError for one that the spec doesn't have.

    `with_scheduler`: None for "where the spec says so", as a spec from flags does of its first ps task. `more`:
    `simulated_gpus`, `preload`, as for `Member`.
    """
    if spec.scheduler is None:
        raise ValueError('task: the spec names no scheduler; add a line such as scheduler = ["localhost:8786"]')
    if job == "scheduler" and spec.scheduler_task is not None:
        raise ValueError(
            f"task: with these flags the scheduler runs inside {spec.scheduler_task}'s process, at {spec.scheduler}; "
            "start that task, or give --scheduler-hosts host:port for a scheduler of its own"
        )
    if with_scheduler is None:
        with_scheduler = spec.scheduler_task == f"/job:{job}/task:{index}"
    me = Member(spec, job, index, certificate, patience, with_scheduler or job == "scheduler", **more)
    _check_encryption(me)
    return me


def _check_encryption(me):
    if me.certificate is not None:
        return
    for address in {me.address, me.spec.scheduler if me.with_scheduler else me.address}:
        if address.rpartition(":")[0] not in LOOPBACK:
            raise ValueError(
                f"task: {address} is not on loopback, and without TLS whoever reaches it can run code as you. Make a "
                "certificate by `python -m course certificate cluster.pem`, give every member a copy, and drop "
                "--insecure"
            )


async def run_member(me, stop, say=print, ready=None):
    """Run the `Member` until the event `stop` is set; return the process's exit code.

    `say` gets the lines for the reader, as `print` does; `ready(worker)` is called whenever the task has joined.
    """
    try:
        for address in {me.address, me.spec.scheduler} if me.with_scheduler else {me.address}:
            check_free(address)
        with refusals_told(say):
            return await _run(me, stop, say, ready)
    except OSError as error:
        return _failed(me, say, f"cannot start: {error}")


async def _run(me, stop, say, ready):
    async with _scheduler(me, say) as scheduler:
        if me.job == "scheduler":
            return 0 if await stopped_before(stop, scheduler.finished()) else 1
        return await _run_task(me, stop, say, ready)


@asynccontextmanager
async def _scheduler(me, say):
    """Within the `with`, the scheduler runs, where this member is to run it."""
    if not me.with_scheduler:
        yield None
        return
    for module in me.preload:
        await asyncio.to_thread(import_module, module)
    host, _, port = me.spec.scheduler.rpartition(":")
    try:
        scheduler = await TaskScheduler(
            me.spec, say, host=host, port=int(port), protocol=me.protocol, security=security(me.certificate)
        )
    except (OSError, ValueError) as error:
        raise OSError(f"the scheduler cannot listen at {host}:{port}: {root(error)}") from error
    say(f"the scheduler listens; session target {scheduler.address}", flush=True)
    try:
        yield scheduler
    finally:
        await scheduler.close()


async def _run_task(me, stop, say, ready):
    def joined(worker):
        say(f"{me.name} listens at {worker.address}; session target {me.session_target}", flush=True)
        if ready:
            ready(worker)

    if gpu := share_gpus(me.spec, me.job, me.index):
        say(f"{me.name} has GPU {gpu} of this host ({VARIABLE})", flush=True)
    with tempfile.TemporaryDirectory(prefix="course-task-", ignore_cleanup_errors=True) as scratch:
        settings = _settings(me, scratch)
        for first in chain([True], repeat(False)):
            try:
                if await stopped_before(stop, request_handshake(me, first, say)):
                    return 0
                lost = await serve_task(settings, stop, joined, send_heartbeats)
            except Refused as error:
                return _failed(me, say, f"cannot join {me.session_target}: {error}")
            except (OSError, TimeoutError, ValueError) as error:
                reason = root(error) or type(error).__name__
                what = f"did not join {me.session_target} within {me.patience:g} s: {reason}"
                return _failed(me, say, f"{what}. Is the scheduler up, with the same certificate?")
            if lost is None:
                return 0
            say(f"{me.name} {lost}; it tries for {me.patience:g} s to join again", flush=True)


def _failed(me, say, what):
    say(f"{me.name} {what}", file=sys.stderr, flush=True)
    return 1


def _settings(me, scratch):
    host, _, port = me.address.rpartition(":")
    return TaskSettings(
        name=me.name,
        scheduler=me.session_target,
        host=host,
        port=int(port),
        threads=max(1, CPU_COUNT // me.spec.local_share(me.address)),
        scratch=scratch,
        patience=me.patience,
        certificate=me.certificate,
        simulated_gpus=me.simulated_gpus,
    )
