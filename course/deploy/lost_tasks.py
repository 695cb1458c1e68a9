"""What happens when a deployed task is lost: another job or process is started under its name, wherever that runs."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from distributed import Scheduler
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.metrics import time as dask_time

from course.deadlines import SOON_EVERY, TASK_JOINS
from course.deploy.launcher import DeployError, Launcher, State
from course.deploy.scheduler import DeployScheduler
from course.deploy.task_order import Order

#: Seconds between two looks at the jobs of missing tasks; while all have joined, the system is not asked.
DEPLOYED_LOOKS_EVERY = 1.0
#: Seconds for a task that has left, and whose job runs on, to come back; then its job is ended and replaced.
DEPLOYED_TASK_REJOINS = 5.0
#: Seconds after which the reader hears of a task that runs and has not joined: a slow disk, or a firewall.
SLOW_JOIN_IS_TOLD = 8.0

_LOG = logging.getLogger(__name__)

#: Whether a task ended by itself -> how often, in a row and before joining, until it is given up.
_DEATHS = {True: 3, False: 10}
_LAST_LINES = 6  # of a task's log, where it can't start


class Keeper:
    """Starts the tasks of `orders` by `launcher`, watches them and replaces those that are lost; ends them by `stop`.

    Lives in the event loop of `scheduler`. `say` gets lines for the reader; `idle`: see `CommonOptions`; `wanted()`
    says whether the cluster is still wanted. `on_end(reason)` is called when it can't, or must not, go on.
    """

    def __init__(
        self,
        scheduler: DeployScheduler,
        launcher: Launcher,
        orders: Iterable[Order],
        say: Callable[..., None],
        idle: float | None,
        wanted: Callable[[], bool],
    ):
        self._scheduler, self._launcher, self._say = scheduler, launcher, say
        self._idle, self._wanted = idle, wanted
        self.orders = {order.name: order for order in orders}
        self._handles: dict[str, Any] = {}
        self._since: dict[str, float] = {}  # task -> when it was launched, or left
        self._deaths: Counter[tuple[str, bool]] = Counter()  # of a task, by itself or not; since it was there last
        self._ever: set[str] = set()  # tasks that have joined at least once
        self._last_line: dict[str, str] = {}  # task -> the last line that the reader got about it
        self._all_here = time.monotonic()
        self.ended: str | None = None
        self.on_end: Callable[[str], None] | None = None
        self._changed = asyncio.Event()
        self._watching: asyncio.Task | None = None
        scheduler.add_plugin(_JoinsAndLosses(self))

    async def start(self, timeout: float | None, wait: bool) -> None:
        """Launch every task; with `wait`, return when all have joined. Raises DeployError, and TimeoutError."""
        await self._launcher.check(self.orders.values())
        await asyncio.gather(*map(self._launch, self.orders))
        self._watching = asyncio.create_task(self._watch())
        await self.joined(list(self.orders) if wait else [], timeout)

    async def joined(self, names: list[str], timeout: float | None) -> None:
        """Return when the tasks `names` have joined; raise DeployError, TimeoutError after `timeout` seconds."""
        deadline = time.monotonic() + (timeout or float("inf"))
        while away := [name for name in names if name not in self._scheduler.aliases]:
            if self.ended:
                raise DeployError(self.ended)
            if time.monotonic() > deadline:
                last = self._last_line.get(away[0], f"{away[0]} has not joined")
                raise TimeoutError(f"deploy(timeout={timeout:g}): {len(away)} tasks are not there yet; {last}")
            await asyncio.sleep(10 * SOON_EVERY)

    async def missing(self) -> list[str]:
        """Return the tasks that the scheduler doesn't have now."""
        return [name for name in self.orders if name not in self._scheduler.aliases]

    async def signal(self, name: str, number: str) -> None:
        """Send a signal, such as "KILL", to the process of the task `name`."""
        worker = self._scheduler.workers.get(self._scheduler.aliases.get(name, ""))
        await self._launcher.signal(self._handles[name], number, worker.pid if worker else None)

    async def restart(self, names: list[str], timeout: float | None = TASK_JOINS) -> None:
        """End the tasks `names` and wait until their successors have joined."""
        for name in names:
            self._forgive(name)
        await self._launcher.end([self._handles[name] for name in names])
        for name in names:
            await self._take_off(name)
            await self._launch(name)
        await self.joined(names, timeout)

    async def stop(self) -> None:
        """Watch no more, and end every task."""
        self.ended = self.ended or "this cluster is closed"
        if self._watching:
            self._watching.cancel()
        await self._launcher.close()

    def has_joined(self, name: str, address: str) -> None:
        """Note where a task listens, and forgive its early deaths."""
        _LOG.info("%s has joined from %s", name, address)
        self._forgive(name)
        self._ever.add(name)
        self._scheduler.addresses[name] = address

    def _forgive(self, name):
        for by_itself in _DEATHS:
            self._deaths[name, by_itself] = 0

    def has_left(self, address: str) -> None:
        """Look at once when the task at this address has left."""
        for name in self.orders:
            if name not in self._scheduler.aliases and self._scheduler.addresses.get(name) == address:
                _LOG.info("%s at %s has left", name, address)
                self._since[name] = time.monotonic()
        self._changed.set()

    async def _watch(self):
        while not self.ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), DEPLOYED_LOOKS_EVERY)
            self._changed.clear()
            if reason := self._over():
                return self._end(reason)
            away = await self.missing()
            if not away:
                continue
            self._all_here = time.monotonic()
            try:
                await self._look(away)
            except (DeployError, OSError) as error:  # Slurm is busy, or a host is away: the next look may see more
                self._tell("", str(error))
            await asyncio.sleep(DEPLOYED_LOOKS_EVERY / 4)

    def _over(self):
        """Return why the cluster is to end now, or None."""
        if not self._wanted():
            return "it was ended by `python -m course deploy stop`"
        if self._scheduler.status in (Status.closing, Status.closed, Status.failed):
            return "its scheduler has ended"
        idle_since = self._scheduler.check_idle()
        if not idle_since or self._idle is None:
            return None
        idle = min(dask_time() - idle_since, time.monotonic() - self._all_here)
        if idle < self._idle:
            return None
        return f"it has had no work for {self._idle:g} s; deploy it again when there is some"

    def _end(self, reason):
        self.ended = reason
        _LOG.info("the cluster ends: %s", reason)
        if self.on_end:
            self.on_end(f"this cluster is closed: {reason}")

    async def _look(self, away):
        for name in away:
            if reason := self._scheduler.refused.get(name):
                return self._end(f"{name} may not join: {reason}")
        states = await self._launcher.states([self._handles[name] for name in away if name in self._handles])
        for name in away:
            await self._look_at(name, states.get(self._handles.get(name), State("ended", "it was never started")))

    async def _look_at(self, name, state):
        if name in self._scheduler.aliases:
            return  # it has come while the system was asked about it
        waited = time.monotonic() - self._since[name]
        was_here = name in self._scheduler.addresses
        if state.never and name not in self._ever:  # one that ran here before may do so again: its partition is back
            advice = "Ask for less, or for another partition; `scontrol show partition` says what there is"
            self._end(f"{name} would wait for ever: {state.reason}. {advice}")
        elif state.stage == "waiting":
            self._since[name] = time.monotonic()
            self._scheduler.addresses.pop(name, None)  # where it was, it will not be again: it has to be loaded anew
            self._tell(name, f"{name} waits for its turn: {state.reason}")
        elif state.stage == "ended":
            await self._replace(name, state.reason, "" if was_here else self._why(name), state.by_itself)
        elif waited > (DEPLOYED_TASK_REJOINS if was_here else TASK_JOINS):
            await self._launcher.end([self._handles[name]])
            await self._replace(name, f"it runs, and has not joined for {waited:.0f} s")
        elif waited > SLOW_JOIN_IS_TOLD:
            self._tell(name, f"{name} runs, and has not joined yet{self._why(name)}")

    async def _replace(self, name, reason, more="", by_itself=True):
        if name in self._scheduler.aliases:
            return  # it came back meanwhile
        if self._deaths[name, by_itself] + 1 >= _DEATHS[by_itself]:
            advice = (
                "Is the course installed there? Name its Python by python=…, lines before it by prologue=[…]. Where it "
                f"is, the task must reach {self._scheduler.address}: see interface=, host=, ports="
            )
            times = 1 + sum(self._deaths[name, each] for each in _DEATHS)
            deaths = f"{name} ended {times} times before it joined: {reason}; {self._last_words(name)}"
            return self._end(f"{deaths}\n{advice}")
        _LOG.info("%s is lost (%s) and started again", name, reason)
        self._tell(name, f"{name} is lost ({reason}) and started again{more}")
        await self._launch(name)
        self._deaths[name, by_itself] += 1  # only now: where Slurm takes no job, this one has not died again

    async def _launch(self, name):
        self._since[name] = time.monotonic()
        self._scheduler.addresses.pop(name, None)
        self._handles[name] = await self._launcher.launch(self.orders[name])
        _LOG.info("%s is started as %s", name, self._handles[name])

    async def _take_off(self, name):
        if address := self._scheduler.aliases.get(name):
            await self._scheduler.remove_worker(address, stimulus_id=f"replaced-{time.time()}")

    def _tell(self, name, line):
        if self._last_line.get(name) != line:
            self._last_line[name] = line
            self._say(line, flush=True)

    def _why(self, name):
        """Return how its log ends; where a firewall may keep the task out, what to do about it, too."""
        last = "".join(self.log(name).splitlines()[-1:])
        ending = f"; its log ends: {last}" if last else "; its log is empty"
        if last and "did not join" not in last and "waits for" not in last:
            return ending
        return (
            f"{ending}. Its modules may come from a slow disk. Otherwise, does no firewall keep it from "
            f"{self._scheduler.address}? Name a network that it can reach by interface= or host=, open ports by ports="
        )

    def _last_words(self, name):
        lines = self.log(name).splitlines()[-_LAST_LINES:]
        return "\n".join(["its log ends:", *lines]) if lines else "its log is empty, or can't be read from here"

    def log(self, name: str) -> str:
        """Return what the task `name` and its predecessors printed, as far as this machine can read it."""
        texts = []
        for file in self._launcher.logs(self.orders[name]):
            with suppress(OSError):
                texts.append(file.read_text(encoding="utf-8", errors="replace"))
        return "".join(texts)


class _JoinsAndLosses(SchedulerPlugin):
    """Tells the keeper which tasks come and leave."""

    def __init__(self, keeper):
        self._keeper = keeper

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._keeper.has_joined(scheduler.workers[worker].name, worker.partition("://")[2])

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        self._keeper.has_left(worker.partition("://")[2])
