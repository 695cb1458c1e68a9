"""Keeps one process alive for each task: a task that dies comes back under its name, on its port.

(Dask's `Nanny` restarts a worker too; it starts a fresh Python, which imports torch for seconds, and does not see one
that is stopped.)
"""

import asyncio
import dataclasses
import logging
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from course.cluster.local_runtime.process import launch
from course.cluster.task.task import TaskSettings
from course.deadlines import SOON_EVERY, TASK_JOINS

#: Between two looks of the supervisor at the tasks' processes.
SUPERVISOR_LOOKS_EVERY = 0.1
#: A task that is stopped (SIGSTOP) for so long counts as dead, as one of several hosts does that is silent.
TASK_FROZEN = 2.5
#: For the kernel to end a process that was killed: a machine that swaps is slow.
KILLED_PROCESS_ENDS = 10.0

_LOG = logging.getLogger(__name__)
_DEATHS = 5  # deaths in a row before joining, after which a task is given up


class Supervisor:
    """Starts the tasks in `settings` (a list of `TaskSettings`), watches them and replaces those that die.

    Lives in the event loop of `scheduler`, a Dask scheduler in this process; call it from there.
    """

    def __init__(self, scheduler: Scheduler, settings: list[TaskSettings]):
        self.settings = {task.name: task for task in settings}
        self._scheduler = scheduler
        self._processes: dict[str, Any] = {}  # task -> the handle of its process
        self._given_up: dict[str, str] = {}  # task -> why
        self._early_deaths = dict.fromkeys(self.settings, 0)
        self._launching: set[str] = set()  # tasks whose next process is about to start, in a thread
        #: Called with the reason when a task is given up: work that waits for it would wait for ever.
        self.on_giving_up: Callable[[str], None] | None = None
        self._stopped_since: dict[str, float] = {}  # task -> when it was first seen stopped
        self._lost: dict[str, Any] = {}  # task -> the handle of its last process whose end is in the log
        self._watching: asyncio.Task | None = None
        self._ended = False
        scheduler.add_plugin(_Joins(self._early_deaths))

    async def start(self) -> None:
        """Start every task and wait until all have joined; RuntimeError with the last words of one that cannot."""
        await asyncio.gather(*map(self._launch, self.settings))
        self._watching = asyncio.create_task(self._watch())
        await self._joined(self.settings)

    async def missing(self) -> list[str]:
        """Return the names of the tasks that the scheduler doesn't have now."""
        return [name for name in self.settings if not self._is_joined(name)]

    async def signal(self, name: str, number: int) -> None:
        """Send the signal `number` to the process of the task `name`."""
        self._processes[name].signal(number)

    async def restart(self, names: list[str]) -> None:
        """End the tasks `names` at once and wait until their successors have joined."""
        for name in names:
            self._given_up.pop(name, None)
            self._early_deaths[name] = 0
            self._log_end(name, self._processes[name], "is restarted: process %d is killed")
            self._processes[name].signal(signal.SIGKILL)
        await asyncio.gather(*(self._replace(name, self._processes[name]) for name in names))
        await self._joined(names)

    async def stop(self) -> None:
        """Stop watching and end every process."""
        self._ended = True
        if self._watching:
            self._watching.cancel()
        for process in list(self._processes.values()):
            process.signal(signal.SIGKILL)
        await self._ends(*self._processes.values())

    async def _joined(self, names):
        deadline = time.monotonic() + TASK_JOINS
        while missing := [name for name in names if not self._is_joined(name)]:
            if reasons := [self._given_up[name] for name in missing if name in self._given_up]:
                raise RuntimeError(reasons[0])
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"{missing[0]} did not join within {TASK_JOINS:.0f} s; {self._last_words(missing[0])}"
                )
            await asyncio.sleep(SOON_EVERY)
        for name in names:
            self._keep_port(name)

    def _is_joined(self, name):
        """Say whether the process that was last started for `name` is the one that the scheduler knows."""
        worker = self._scheduler.workers.get(self._scheduler.aliases.get(name))
        return worker is not None and worker.pid == self._processes[name].pid

    async def _watch(self):
        while True:
            await asyncio.sleep(SUPERVISOR_LOOKS_EVERY)
            for name in self.settings:
                process = self._processes[name]  # once: a thread that starts another puts that in its place
                if self._is_joined(name):
                    self._end_if_frozen(name)
                elif name not in self._given_up and (code := process.exit_code()) is not None:
                    self._log_end(name, process, f"is lost: process %d ended, exit code {code}")
                    # where no process can be had: that counts, and the next look tries again
                    with suppress(RuntimeError, OSError):
                        await self._replace(name, process)

    def _log_end(self, name, process, words):
        """Log the end of a task's process, once: its end is seen at each look until another is started."""
        if self._lost.get(name) is not process:
            self._lost[name] = process
            _LOG.info(f"%s {words}", name, process.pid)

    def _keep_port(self, name):
        """Give the task's successors its port: Dask ties pinned work to the address, not to the name."""
        port = int(self._scheduler.aliases[name].rpartition(":")[2])
        if port != self.settings[name].port:
            self.settings[name] = dataclasses.replace(self.settings[name], port=port)

    def _end_if_frozen(self, name):
        """End a task that has been stopped for long: its connection stays open, so Dask would wait for ever."""
        if not _is_stopped(self._processes[name].pid):
            self._stopped_since.pop(name, None)
        elif time.monotonic() - self._stopped_since.setdefault(name, time.monotonic()) > TASK_FROZEN:
            process = self._processes[name]
            self._log_end(name, process, f"is lost: process %d was frozen for {TASK_FROZEN:g} s and is killed")
            process.signal(signal.SIGKILL)

    async def _replace(self, name, ended):
        await self._ends(ended)
        if self._processes[name] is not ended or name in self._launching or self._ended:
            return  # `restart` or the watch has replaced it or is about to, or the cluster is being closed
        self._early_deaths[name] += 1
        if self._early_deaths[name] > _DEATHS:
            self._given_up[name] = f"{name} ended {_DEATHS} times before it joined; {self._last_words(name)}"
            _LOG.warning("%s", self._given_up[name])
            if self.on_giving_up:
                self.on_giving_up(self._given_up[name])
        else:
            await self._launch(name)

    async def _launch(self, name):
        self._launching.add(name)
        try:
            await self._forget_predecessor(name)
            await asyncio.to_thread(self._start_process, name)  # the fork server may still be importing torch
        finally:
            self._launching.discard(name)

    async def _forget_predecessor(self, name):
        if address := self._scheduler.aliases.get(name):  # its predecessor, whose end Dask has not noticed yet
            await self._scheduler.remove_worker(address, stimulus_id=f"replaced-{time.time()}")

    def _start_process(self, name):
        process = self._processes[name] = launch(self.settings[name])
        _LOG.info("%s starts: process %d", name, process.pid)
        if self._ended:  # `stop` came between and cannot have seen this process
            process.signal(signal.SIGKILL)

    async def _ends(self, *processes):
        deadline = time.monotonic() + KILLED_PROCESS_ENDS
        while any(process.exit_code() is None for process in processes):
            if time.monotonic() > deadline:
                since = f"{KILLED_PROCESS_ENDS:.0f} s after it was killed"
                raise RuntimeError(f"a task's process is still there {since}; the system holds it back")
            await asyncio.sleep(SOON_EVERY)

    def _last_words(self, name):
        log = Path(self.settings[name].log)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "its log ends:\n" + "\n".join(lines[-5:]) if lines else "its log is empty"


class _Joins(SchedulerPlugin):
    """Forgives a task's early deaths when it joins; the watch could miss one that joins and dies in the next moment."""

    def __init__(self, early_deaths):
        self._early_deaths = early_deaths

    def add_worker(self, scheduler, worker):
        member = scheduler.workers[worker]
        self._early_deaths[member.name] = 0
        _LOG.info("%s has joined at %s: process %d", member.name, worker, member.pid)


def _is_stopped(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False  # it has just ended; the watch will see
