"""Be a task that `deploy` started: read the order from standard input, find an address here, and join."""

import asyncio
import os
import sys
import tempfile
import threading
from typing import TextIO

from dask.system import CPU_COUNT  # knows about containers' limits
from distributed.utils import get_ip, get_ip_interface

from course.cluster.dask_log import quiet
from course.cluster.multihost.refused_connections import refusals_told
from course.cluster.multihost.task_process import join_again_and_again
from course.cluster.task.gpu_share import VARIABLE, gpus_of_tasks, visible_gpus
from course.cluster.task.loop_errors import watch_errors
from course.cluster.task.task import TaskSettings, stop_signal
from course.deadlines import TASK_LEAVES
from course.deploy.task_order import order_of

#: Seconds for a task that its system tells to end to hand over a training's state: Slurm kills it after 30 s.
TASK_HANDS_OVER = 15.0
_ADVICE = "Is its client there still, and does no firewall keep us out?"


def run_deployed(stdin: TextIO = sys.stdin) -> int:
    """Be the task of the order in the first line of `stdin`, until it is told to stop; return the exit code."""
    order = order_of(stdin.readline())
    quiet()
    try:
        asyncio.run(_run(order, stdin))
    except (RuntimeError, OSError, ValueError) as error:
        print(f"{order.name} on {os.uname().nodename if os.name == 'posix' else 'this machine'}: {error}", flush=True)
        return 1
    return 0


async def _run(order, stdin):
    watch_errors()
    stop, workers = asyncio.Event(), []
    leaving = asyncio.create_task(_leave_when_told(stop_signal(), stop, workers))
    if order.attached:
        _stop_with(stdin, stop)
    gpu = gpus_of_tasks(order.among, visible_gpus() if order.among else []).get(order.name)
    if gpu is not None:
        os.environ[VARIABLE] = gpu
    host, port = _host(order), order.ports or 0
    share = max(1, CPU_COUNT // max(1, len(order.among)))
    threads = min(share, order.cores or share)
    folder = os.path.expandvars(order.scratch) if order.scratch else None
    with (
        refusals_told(print),
        tempfile.TemporaryDirectory(prefix="course-task-", dir=folder, ignore_cleanup_errors=True) as scratch,
    ):
        where = (order.name, order.scheduler, host, port, threads, scratch, order.patience, order.certificate)
        try:
            settings = TaskSettings(*where, memory=order.memory, advice=_ADVICE)
            await join_again_and_again(settings, stop, print, workers.append)
        finally:
            leaving.cancel()


def _host(order):
    """Return the address to listen at: the named interface's, or the one by which the scheduler is reached."""
    if order.interface:
        return get_ip_interface(order.interface)  # ValueError with the interfaces that there are
    host, _, port = order.scheduler.partition("://")[2].rpartition(":")
    return get_ip(host.strip("[]"), int(port))


async def _leave_when_told(signalled, stop, workers):
    """Wait for the system's signal to end; have a training's servers hand over their state; set `stop`."""
    await signalled.wait()
    for worker in workers:
        worker.leaving = True
    leavers = {leaver for worker in workers for leaver in worker.leavers}
    await asyncio.gather(*(asyncio.to_thread(leaver.leave, TASK_HANDS_OVER) for leaver in leavers))
    stop.set()


def _stop_with(stdin, stop):
    """Set `stop` when `stdin` ends: the sender of the order is gone, or wants this task to end."""
    loop = asyncio.get_running_loop()

    def watch():
        while stdin.read(1 << 16):
            pass
        loop.call_soon_threadsafe(stop.set)
        threading.Event().wait(TASK_LEAVES)
        os._exit(1)  # it could not leave in time

    threading.Thread(target=watch, daemon=True, name="the end of standard input").start()
