"""A process of a cluster started by hand, from start to end: its scheduler where it has one, joining, joining again."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from itertools import chain, repeat

from dask.system import CPU_COUNT
from distributed import Worker

from course.cluster.certificates import security
from course.cluster.multihost.handshake import request_handshake
from course.cluster.multihost.heartbeat import send_heartbeats
from course.cluster.multihost.ports import check_free
from course.cluster.multihost.reachability import Refused
from course.cluster.multihost.refused_connections import refusals_told
from course.cluster.multihost.task_scheduler import TaskScheduler
from course.cluster.multihost.which_task import Member
from course.cluster.task.gpu_share import VARIABLE, share_gpus
from course.cluster.task.loop_errors import watch_errors
from course.cluster.task.task import TaskSettings, root, serve_task, simulated, stop_signal, stopped_before

_LOG = logging.getLogger(__name__)


async def run_member(
    me: Member, stop: asyncio.Event | None, say: Callable[..., None], ready: Callable[[Worker], None] | None = None
) -> None:
    """Run the `Member` until the event `stop` is set, or, where that is None, a signal comes.

    `say` gets the lines for the reader, as `print` does; `ready(worker)` is called whenever the task has joined. Raises
    RuntimeError with a sentence when the member could not start, or can't join.
    """
    watch_errors()
    _LOG.info("%s starts: process %d", me.name, os.getpid())
    try:
        for address in me.listens_at:
            check_free(address)
        with refusals_told(say):
            stop = stop or stop_signal()
            async with _scheduler(me, say) as scheduler:
                if me.job != "scheduler":
                    await _run_task(me, stop, say, ready)
                elif not await stopped_before(stop, scheduler.finished()):
                    raise RuntimeError("the scheduler was ended by a client")
    except OSError as error:
        raise RuntimeError(f"{me.name} cannot start: {error}") from error


@asynccontextmanager
async def _scheduler(me, say):
    """Within the `with`, the scheduler runs, where this member is to run it."""
    if not me.with_scheduler:
        yield None
        return
    for module in me.preload:
        await asyncio.to_thread(import_module, module)
    host, _, port = me.scheduler_address.rpartition(":")
    try:
        protocol = me.session_target.partition("://")[0]
        listening = {"host": host, "port": int(port), "protocol": protocol, "security": security(me.certificate)}
        scheduler = await TaskScheduler(me.spec, say, routes=me.routes, **listening)
    except (OSError, ValueError, RuntimeError) as error:  # the last is Dask's, around one of the others
        raise OSError(f"the scheduler cannot listen at {host}:{port}: {root(error)}") from error
    _LOG.info("the scheduler listens at %s", scheduler.address)
    say(f"the scheduler listens; session target {scheduler.address}", flush=True)
    try:
        yield scheduler
    finally:
        await scheduler.close()


async def _run_task(me, stop, say, ready):
    if gpu := share_gpus(me.spec, me.job, me.index):
        say(f"{me.name} has GPU {gpu} of this host ({VARIABLE})", flush=True)
    threads = max(1, CPU_COUNT // len(me.spec.tasks_beside(me.address)))
    with tempfile.TemporaryDirectory(prefix="course-task-", ignore_cleanup_errors=True) as scratch:
        await join_again_and_again(me.settings(threads, scratch), stop, say, ready)


async def join_again_and_again(
    me: TaskSettings,
    stop: asyncio.Event,
    say: Callable[..., None],
    ready: Callable[[Worker], None] | None = None,
) -> None:
    """Be the task with the settings `me` until `stop`. What runs here goes on while the task is away.

    Raises RuntimeError with a sentence when it can't join, at first or again, within its patience.
    """

    def joined(worker):
        _LOG.info("%s has joined %s, listening at %s", me.name, me.scheduler, worker.address)
        say(f"{me.name} listens at {worker.address}; session target {me.scheduler}", flush=True)
        if ready:
            ready(worker)

    with simulated(me):
        join = partial(serve_task, me, stop, joined)
        for first in chain([True], repeat(False)):
            lost = await _joined_once(me, first, stop, say, join)
            if lost is None:
                _LOG.info("%s leaves %s", me.name, me.scheduler)
                return
            _LOG.info("%s %s; it tries for %g s to join again", me.name, lost, me.patience)
            say(f"{me.name} {lost}; it tries for {me.patience:g} s to join again", flush=True)


async def _joined_once(me, first, stop, say, join):
    """Join and serve; return why the task was lost, None when it was told to stop."""
    try:
        if await stopped_before(stop, request_handshake(me, first, say)):
            return None
        return await join(alongside=send_heartbeats)
    except Refused as error:
        raise RuntimeError(f"{me.name} cannot join {me.scheduler}: {error}") from error
    except (OSError, TimeoutError, ValueError) as error:
        reason = root(error) or type(error).__name__
        sentence = f"{me.name} did not join {me.scheduler} within {me.patience:g} s: {reason}"
        raise RuntimeError(f"{sentence}. Is the scheduler up, with the same certificate?") from error
