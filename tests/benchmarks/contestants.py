"""Contestants for the tests of the benchmark: one that works, and some that die, hang, lie or talk too much."""

import subprocess
import sys
import threading
from pathlib import Path

from benchmarks.contestant import Work


def works(answer=1, seconds=0.5):
    """Says that it took so many seconds."""
    return Work(lambda: answer, lambda found: found, seconds=lambda found: seconds)


def dies(runs=1):
    """Ends in the middle of its work, after so many runs; its warm-up is none."""
    left = [runs]

    def run():
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError("no room for the board")
        return 1

    return Work(run, lambda found: found, seconds=lambda found: 0.5, warm_ups=0)


def lies(after=1):
    """Is right so many times, then wrong."""
    answers = iter([1] * after + [2] * 100)
    return Work(lambda: next(answers), lambda found: found, seconds=lambda found: 0.5, warm_ups=0)


def hangs(note):
    """Waits for ever, as does a process that it started, whose number it notes."""

    def run():
        child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        Path(note).write_text(str(child.pid))
        threading.Event().wait()

    return Work(run, warm_ups=0)


def talks():
    """Prints, as libraries do, what is no answer."""

    def run():
        print("welcome to the library")
        return 1

    return Work(run, lambda found: found, seconds=lambda found: 0.5)


def measures(figures):
    """Several things in one process."""
    return Work(lambda: None, figures=lambda _: figures, warm_ups=0)
