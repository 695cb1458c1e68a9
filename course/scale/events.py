"""Processes that wait for each other and for a core, one event at a time in the order of their simulated seconds."""

from collections import deque
from collections.abc import Generator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple


class Work(NamedTuple):
    """Occupy a core for so many `seconds`; the process goes on with the second at which they are over."""

    seconds: float


class Send(NamedTuple):
    """Put `what` into the mailbox of process number `to`, at once; the cost of sending is the sender's `Work`."""

    to: int
    what: Any = None


class Receive(NamedTuple):
    """Take the oldest message of this process's mailbox, and sleep until there is one."""


#: What a simulated process is: a generator of its steps.
Process = Generator[Work | Send | Receive, Any, None]


def run(processes: Sequence[Process], cores: int | None = None, wake: float = 0.0, switch: float = 0.0) -> float:
    """Run `processes` until number 0 ends; return the second at which it does.

    - `cores`: how many they share, None: each has one to itself. Who is ready gets the next free core, in turn, and
      has it until it sleeps: a process is not interrupted.
    - `wake`: seconds that a core needs to begin again after it had nothing to do. `switch`: seconds that a core needs
      more where another process ran on it before: its caches are cold.

    All begin at second 0, in their order; what happens at the same second happens in the order of its cause, so two
    runs are equal. Raises ValueError when process 0 waits for a message and nothing more can happen.
    """
    shared = _OwnCores(len(processes), wake) if cores is None else _SharedCores(cores, wake, switch)
    machine = _Machine(processes, shared)
    ended = any([machine.goes_on(number, None) for number in range(len(processes))])
    while machine.events and not ended:
        machine.now, _, number = heappop(machine.events)
        ended = machine.goes_on(number, machine.now)
    if not ended:
        raise ValueError("run(processes): process 0 waits for a message that no process will send.")
    return machine.now


class _Machine:
    def __init__(self, processes, cores):
        self.processes, self.cores, self.now = processes, cores, 0.0
        self.events, self._count = [], 0
        self._mail, self._asleep = [deque() for _ in processes], [False] * len(processes)

    def goes_on(self, number, value):
        """Let a process take steps, and those that it wakes, until all work or sleep; tell whether number 0 ended."""
        ready = deque([(number, value)])
        while ready:
            number, value = ready.popleft()
            work = self._steps(number, value, ready)
            if work is not None:
                self.cores.ask(number, work, self.now)
            else:
                self.cores.free(number, self.now)
                if number == 0 and not self._asleep[0]:
                    return True
        for ends, number in self.cores.begun(self.now):
            self._count += 1
            heappush(self.events, (ends, self._count, number))
        return False

    def _steps(self, number, value, ready):
        """Return the seconds of the work that the process stops at; None where it sleeps or has ended."""
        mail, go_on = self._mail[number], self.processes[number].send
        while True:
            try:
                step = go_on(value)
            except StopIteration:
                return None
            value = None
            if isinstance(step, Work):
                return step.seconds
            if isinstance(step, Send):
                if self._asleep[step.to]:
                    self._asleep[step.to] = False
                    ready.append((step.to, step.what))
                else:
                    self._mail[step.to].append(step.what)
            elif mail:
                value = mail.popleft()
            else:
                self._asleep[number] = True
                return None


class _OwnCores:
    """A core for each process."""

    def __init__(self, processes, wake):
        self._wake, self._idle_since, self._begun = wake, [0.0] * processes, []

    def ask(self, number, seconds, now):
        slept = self._idle_since[number] is not None and self._idle_since[number] < now
        self._idle_since[number] = None
        self._begun.append((now + seconds + (self._wake if slept else 0.0), number))

    def free(self, number, now):
        self._idle_since[number] = now

    def begun(self, now):
        begun, self._begun = self._begun, []
        return begun


class _SharedCores:
    """A few cores for all processes, in turn; a process gets the core that it had last, if that one is free."""

    def __init__(self, cores, wake, switch):
        self._wake, self._switch = wake, switch
        self._ready, self._begun = deque(), []
        self._idle_since = dict.fromkeys(range(cores), 0.0)  # the cores that are free
        self._last, self._core = [None] * cores, {}  # by core, the process before; by process, the core that it has

    def ask(self, number, seconds, now):
        if number in self._core:
            self._begun.append((now + seconds, number))
        else:
            self._ready.append((number, seconds))

    def free(self, number, now):
        if number in self._core:
            self._idle_since[self._core.pop(number)] = now

    def begun(self, now):
        while self._ready and self._idle_since:
            number, seconds = self._ready.popleft()
            free = self._idle_since
            core = next((core for core in free if self._last[core] == number), next(iter(free)))
            if free.pop(core) < now:
                seconds += self._wake
            elif self._last[core] not in (None, number):
                seconds += self._switch
            self._core[number], self._last[core] = core, number
            self._begun.append((now + seconds, number))
        begun, self._begun = self._begun, []
        return begun
