"""Keeps one process alive for each task: a task that dies comes back under its name, on its port."""

import asyncio
import dataclasses
import signal
import time
from pathlib import Path

from course.cluster.launch import launch

PATIENCE = 60.0  # seconds for a task to join
_LOOK = 0.05  # seconds between two looks at the tasks
_DEATHS = 5  # deaths in a row before joining, after which a task is given up


class Supervisor:
    """Starts the tasks in `settings` (a list of `TaskSettings`), watches them and replaces those that die.

    Lives in the event loop of `scheduler`, a Dask scheduler in this process; call it from there.
    """

    def __init__(self, scheduler, settings):
        self.scheduler = scheduler
        self.settings = {one.name: one for one in settings}
        self.processes = {}
        self.failed = {}  # task -> why it was given up
        self._early_deaths = dict.fromkeys(self.settings, 0)
        self._watching = None

    async def start(self):
        """Start every task, wait until all have joined; raise RuntimeError with the last words of one that cannot."""
        for name in self.settings:
            await self._launch(name)
        self._watching = asyncio.create_task(self._watch())
        await self.wait_for(*self.settings)

    async def wait_for(self, *names):
        """Wait until the tasks `names` have joined the scheduler; raise RuntimeError when one is given up or late."""
        deadline = time.monotonic() + PATIENCE
        while missing := [name for name in names if not self.joined(name)]:
            if failed := [name for name in missing if name in self.failed]:
                raise RuntimeError(self.failed[failed[0]])
            if time.monotonic() > deadline:
                raise RuntimeError(f"{missing[0]} did not join within {PATIENCE:.0f} s; {self._last_words(missing[0])}")
            await asyncio.sleep(0.005)

    def joined(self, name):
        """Say whether the process that we started for `name` is the one that the scheduler knows."""
        worker = self.scheduler.workers.get(self.scheduler.aliases.get(name))
        return worker is not None and worker.pid == self.processes[name].pid

    async def restart(self, name):
        """End the task `name` at once and wait until its successor has joined."""
        self.processes[name].signal(signal.SIGKILL)
        await self._replace(name)
        await self.wait_for(name)

    async def stop(self):
        """Stop watching and end every process."""
        if self._watching:
            self._watching.cancel()
        for process in self.processes.values():
            process.signal(signal.SIGKILL)
        deadline = time.monotonic() + 5
        while any(process.exit_code() is None for process in self.processes.values()) and time.monotonic() < deadline:
            await asyncio.sleep(0.005)

    async def _watch(self):
        while True:
            await asyncio.sleep(_LOOK)
            for name, process in list(self.processes.items()):
                if self.joined(name):
                    self._early_deaths[name] = 0
                    self._keep_port(name)
                elif name not in self.failed and process.exit_code() is not None:
                    await self._replace(name)

    def _keep_port(self, name):
        """Give the task's successors its port: Dask ties pinned work to the address, not to the name."""
        port = int(self.scheduler.aliases[name].rpartition(":")[2])
        self.settings[name] = dataclasses.replace(self.settings[name], port=port)

    async def _replace(self, name):
        process = self.processes[name]
        while process.exit_code() is None:
            await asyncio.sleep(0.005)
        if self.processes[name] is not process:
            return  # somebody else replaced it while we waited
        self._early_deaths[name] += 1
        if self._early_deaths[name] > _DEATHS:
            self.failed[name] = f"{name} ended {_DEATHS} times before it joined; {self._last_words(name)}"
            return
        await self._launch(name)

    async def _launch(self, name):
        if address := self.scheduler.aliases.get(name):  # its predecessor, whose end Dask has not noticed yet
            await self.scheduler.remove_worker(address, stimulus_id=f"replaced-{time.time()}")
        # The first launch may have to wait until the fork server has imported torch.
        self.processes[name] = await asyncio.to_thread(launch, self.settings[name])

    def _last_words(self, name):
        log = Path(self.settings[name].log)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "its log ends: " + "\n".join(lines[-5:]) if lines else "its log is empty"
