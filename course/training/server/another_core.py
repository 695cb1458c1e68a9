"""The reader of pushes leaves its core where two workers share one and another core has nothing to do.

Linux wakes a thread where it ran last, or where its waker runs. On two cores that share a cache it looks for no third
way while they are busy (`select_idle_cpu` in kernel/sched/fair.c). So two workers whom the reader answers on their own
core take turns there for many rounds, until the balancer looks. Where the reader has gone to the other core, the one is
woken where it was, and the other one there.
"""

import os
import time
from contextlib import suppress

from course.deadlines import CORE_LEFT_EVERY


class Core:
    """The core that the calling thread runs on. Where the system doesn't say which, or how much runs, it stays."""

    def __init__(self):
        self._left = 0.0

    def leave(self) -> bool:
        """Go to another core if not more threads run than there are cores; return whether it was tried.

        A second time only after 10 ms. The cores that the thread may run on stay the same.
        """
        now = time.monotonic()
        if now - self._left < CORE_LEFT_EVERY:
            return False
        self._left = now
        with suppress(OSError, AttributeError, ValueError):  # no Linux; what is allowed has just changed
            allowed = os.sched_getaffinity(0)
            others = allowed - {_current()}
            if others and _running() <= len(allowed):
                os.sched_setaffinity(0, others)  # moves it at once
                os.sched_setaffinity(0, allowed)
                return True
        return False


def _running():
    """Return how many threads of this machine run, or could: the fourth figure of /proc/loadavg."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[3].split(b"/")[0])


def _current():
    """Return the number of this thread's core: the 39th field of its stat, counted from behind its name."""
    with open("/proc/thread-self/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[36])
