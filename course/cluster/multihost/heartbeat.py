"""Heartbeats between a task, its scheduler and a client: whoever is frozen, or cut off, is noticed on both sides.

Dask waits for the end of a connection, which never comes from a process that is stopped or a cable that is out. Its own
heartbeats grow rarer as a cluster grows, and it looks at them after five minutes.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from distributed import Client, Scheduler, Worker
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

from course.cluster.executor import OpenWork
from course.deadlines import CLIENT_ASKS_EVERY, SCHEDULER_SILENCE

_LOG = logging.getLogger(__name__)
#: Between two heartbeats of a task; a packet lost and sent again (0.2 s and more) costs no heartbeat.
HEARTBEAT_EVERY = 0.5
#: Without a heartbeat for so long, the scheduler counts a task out: four are missing, and a garbage collection is over.
TASK_SILENCE = 2.5
#: Between two looks of the scheduler at its tasks. Four times as late, it stood still itself, and blames none.
SCHEDULER_LOOKS_EVERY = 0.25
#: A client whose own wait ended so much later than asked for was frozen itself, and knows nothing about the scheduler.
CLIENT_STOOD_STILL = 1.0
#: For a client whose scheduler is lost to close: its goodbye has no answer.
LOST_CLIENT_CLOSES = 1.0
#: A lost scheduler is noticed by a client in so long, all in all.
SCHEDULER_LOSS_NOTICED = 10.0


async def send_heartbeats(worker: Worker) -> str:
    """Send heartbeats for the Dask `worker` until its scheduler is lost or counts it out; return which, as text."""
    heard = time.monotonic()
    while (remaining := heard + SCHEDULER_SILENCE - time.monotonic()) > 0:
        try:
            answer = await asyncio.wait_for(worker.scheduler.task_heartbeat(name=worker.name, id=worker.id), remaining)
        except (OSError, TimeoutError):
            await asyncio.sleep(HEARTBEAT_EVERY)
            continue
        except RuntimeError:
            if worker.status == Status.running:
                raise
            return "lost its scheduler"  # Dask found it out first, and has closed the worker's connections
        heard = time.monotonic()
        if not answer["known"]:
            return "was counted out by its scheduler: it had been silent"
        await asyncio.sleep(HEARTBEAT_EVERY)
    return f"has not heard from its scheduler for {SCHEDULER_SILENCE:.0f} s"


class Watch(SchedulerPlugin):
    """The scheduler's side: takes the tasks that are silent from the scheduler's list."""

    name = "course-watch"

    def __init__(self, scheduler: Scheduler, say: Callable[..., None]):
        self._scheduler, self._say = scheduler, say
        self._heard: dict[str, float] = {}  # address -> when it was last heard, by this process's monotonic clock
        self._names: dict[str, str] = {}  # address -> the task there

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Begin to watch the task at the address `worker`, which has just joined (Dask calls this)."""
        self._heard[worker] = time.monotonic()
        self._names[worker] = str(scheduler.workers[worker].name)
        _LOG.info("%s has joined at %s", self._names[worker], worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """End the watch of a task that has left (Dask calls this)."""
        self._heard.pop(worker, None)
        if name := self._names.pop(worker, None):
            _LOG.info("%s is gone: its connection from %s ended", name, worker)

    def heartbeat(self, name: str, id: str) -> dict[str, bool]:
        """Note a heartbeat; say whether the task `name` is on the list as the process that calls itself `id`."""
        member = self._scheduler.workers.get(self._scheduler.aliases.get(name, ""))
        if member is None or member.server_id != id:
            return {"known": False}
        self._heard[member.address] = time.monotonic()
        return {"known": True}

    def silence(self, address: str) -> float:
        """Return for how many seconds the task at `address` has been silent."""
        return time.monotonic() - self._heard.get(address, time.monotonic())

    async def run(self) -> NoReturn:
        """Look at the tasks for ever."""
        last = time.monotonic()
        while True:
            await asyncio.sleep(SCHEDULER_LOOKS_EVERY)
            now = time.monotonic()
            if now - last > 4 * SCHEDULER_LOOKS_EVERY:  # this process was frozen or busy, and could hear no task
                self._heard = dict.fromkeys(self._heard, now)
            last = now
            for address in list(self._heard):  # while one is taken from the list, another may leave it
                if (silence := self.silence(address)) > TASK_SILENCE:
                    name = self._names.pop(address)
                    _LOG.info("%s at %s has been silent for %.1f s: counted out", name, address, silence)
                    self._say(f"{name} has been silent for {silence:.1f} s: counted out", file=sys.stderr, flush=True)
                    # expected: the work that it had is not to blame, so it isn't given up after a few such events
                    await self._scheduler.remove_worker(address, stimulus_id=f"silent-{now}", expected=True)


async def watch_scheduler(
    client: Client, work: OpenWork, address: str, advice: str = "connect again when it is back"
) -> None:
    """Ask the scheduler at `address` again and again; once it is silent, fail all work of the Dask `client`.

    `work`, the cluster's `OpenWork`, is closed with the reason and `advice`; Dask's own futures are cancelled with it.
    """
    heard = time.monotonic()
    while (remaining := heard + SCHEDULER_SILENCE - time.monotonic()) > 0:
        asked_at, pause = time.monotonic(), min(CLIENT_ASKS_EVERY, SCHEDULER_SILENCE / 4)
        answered = await _answers(client, remaining)
        await asyncio.sleep(pause)
        # frozen and thawed: then nothing is known
        we_stood_still = time.monotonic() - asked_at > remaining + pause + CLIENT_STOOD_STILL
        if answered or we_stood_still:
            heard = time.monotonic()
    reason = f"the scheduler at {address} has not answered for {SCHEDULER_SILENCE:g} s; {advice}"
    _LOG.info("%s", reason)
    work.close(reason)
    for state in list(client.futures.values()):  # what waits for the scheduler
        state.cancel(reason="scheduler-lost", msg=reason)
    closing = asyncio.ensure_future(client._close(fast=True))  # so that nothing new waits either
    await asyncio.wait([closing], timeout=LOST_CLIENT_CLOSES)


async def _answers(client, seconds):
    with suppress(OSError, TimeoutError):
        await asyncio.wait_for(client.scheduler.identity(n_workers=0), seconds)
        return True
    return False
