"""Processes that wait for each other and for a core, one event at a time in the order of their simulated seconds."""

from collections import deque
from collections.abc import Generator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple


class Work(NamedTuple):
    """Occupy a core for so many `seconds`; the process goes on with the second at which they are over."""

    seconds: float


class Send(NamedTuple):
    """Put `message` into the mailbox of process number `to`, at once; the cost of sending is the sender's `Work`."""

    to: int
    message: Any = None


class Receive(NamedTuple):
    """Take the oldest message of this process's mailbox, and sleep until there is one."""


#: What a simulated process is: a generator of its steps.
Process = Generator[Work | Send | Receive, Any, None]


def run(
    processes: Sequence[Process],
    cores: int | None = None,
    wake: float = 0.0,
    switch: float = 0.0,
    programs: Sequence[int] | None = None,
) -> float:
    """Run `processes` until number 0 ends; return the second at which it does.

    - `cores`: the number that they share; None gives each program its own. A ready process gets the next free core, in
      turn, and keeps it until it sleeps: a process is not interrupted.
    - `wake`: seconds that a core needs to begin again after it had nothing to do. `switch`: further
      seconds that a core needs to change to another process.
    - `programs`: the number, from 0 up, of the program that each process is a thread of; None: each is a program. Of
      one program's threads one works at a time, until it sleeps: Python's lock.

    All begin at second 0, in their order; what happens at the same second happens in the order of its cause, so two
    runs are equal. Raises ValueError when process 0 waits for a message and nothing more can happen.
    """
    of = range(len(processes)) if programs is None else programs
    machine = _Machine(
        processes, _OwnCores(of, wake, switch) if cores is None else _SharedCores(of, cores, wake, switch)
    )
    ended = any([machine.goes_on(number, None) for number in range(len(processes))])
    while machine.events and not ended:
        machine.clock, _, number = heappop(machine.events)
        ended = machine.goes_on(number, machine.clock)
    if not ended:
        raise ValueError("run(processes): process 0 waits for a message that no process will send.")
    return machine.clock


class _Machine:
    def __init__(self, processes, cores):
        self.processes, self.cores, self.clock = processes, cores, 0.0
        self.events, self._count = [], 0
        self._mail, self._asleep = [deque() for _ in processes], [False] * len(processes)

    def goes_on(self, number, value):
        """Let a process take steps, and those that it wakes, until all work or sleep; tell whether number 0 ended."""
        ready = deque([(number, value)])
        while ready:
            number, value = ready.popleft()
            work = self._steps(number, value, ready)
            if work is not None:
                self.cores.ask(number, work, self.clock)
            else:
                self.cores.free(number, self.clock)
                if number == 0 and not self._asleep[0]:
                    return True
        for ends, number in self.cores.begun(self.clock):
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
                    ready.append((step.to, step.message))
                else:
                    self._mail[step.to].append(step.message)
            elif mail:
                value = mail.popleft()
            else:
                self._asleep[number] = True
                return None


class _OwnCores:
    """A core for each program, whose threads have it in turn."""

    def __init__(self, programs, wake, switch):
        self._programs, self._wake, self._switch, self._begun = programs, wake, switch, []
        count = max(programs) + 1
        self._ready = [deque() for _ in range(count)]  # by program, as all that follows
        self._at_work, self._last, self._idle_since = [False] * count, [None] * count, [0.0] * count

    def ask(self, number, seconds, clock):
        program = self._programs[number]
        if not self._at_work[program]:
            self._at_work[program] = True
            if self._idle_since[program] < clock:
                seconds += self._wake
            elif self._last[program] not in (None, number):
                seconds += self._switch
            self._last[program] = number
        elif self._last[program] != number:
            self._ready[program].append((number, seconds))
            return
        self._begun.append((clock + seconds, number))

    def free(self, number, clock):
        program = self._programs[number]
        if self._at_work[program] and self._last[program] == number:
            self._at_work[program], self._idle_since[program] = False, clock
            if self._ready[program]:
                self.ask(*self._ready[program].popleft(), clock)

    def begun(self, clock):
        begun, self._begun = self._begun, []
        return begun


class _SharedCores:
    """A few cores for all processes, in turn; a process gets the core that it had last, if that one is free."""

    def __init__(self, programs, cores, wake, switch):
        self._programs, self._wake, self._switch = programs, wake, switch
        self._ready, self._begun = deque(), []
        self._idle_since = dict.fromkeys(range(cores), 0.0)  # the cores that are free
        self._last, self._core = [None] * cores, {}  # by core, the process before; by process, the core that it has
        self._at_work = set()  # programs

    def ask(self, number, seconds, clock):
        if number in self._core:
            self._begun.append((clock + seconds, number))
        else:
            self._ready.append((number, seconds))

    def free(self, number, clock):
        if number in self._core:
            self._idle_since[self._core.pop(number)] = clock
            self._at_work.remove(self._programs[number])

    def begun(self, clock):
        while self._idle_since and (queued := self._next()) is not None:
            (number, seconds), free = queued, self._idle_since
            core = next((core for core in free if self._last[core] == number), next(iter(free)))
            if free.pop(core) < clock:
                seconds += self._wake
            elif self._last[core] not in (None, number):
                seconds += self._switch
            self._core[number], self._last[core] = core, number
            self._at_work.add(self._programs[number])
            self._begun.append((clock + seconds, number))
        begun, self._begun = self._begun, []
        return begun

    def _next(self):
        """Remove and return the first ready process whose program is not at work; None where there is none."""
        for place, (number, seconds) in enumerate(self._ready):
            if self._programs[number] not in self._at_work:
                del self._ready[place]
                return number, seconds
        return None
