"""Contestants for the tests of the benchmark: one that works, and some that die, hang, lie or talk too much."""

import os
import subprocess
import sys
import threading
from itertools import chain, repeat
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
    answers = chain([1] * after, repeat(2))
    return Work(lambda: next(answers), lambda found: found, seconds=lambda found: 0.5, warm_ups=0)


def hangs(note):
    """Waits for ever, as does a process that it started, whose number it notes."""

    def run():
        child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        Path(note).write_text(str(child.pid))
        threading.Event().wait()

    return Work(run, warm_ups=0)


def listens():
    """Waits for its orders."""
    return Work(lambda: 1, lambda found: found)


def vectors():
    """Answers which registers numba's code for a sum uses: zmm are those of AVX-512."""
    import numba
    import numpy as np

    @numba.njit(fastmath=True)
    def added(numbers):
        total = 0.0
        for one in numbers:
            total += one
        return total

    added(np.ones(8))
    (code,) = added.inspect_asm().values()
    return Work(lambda: code, lambda found: sorted(kind for kind in ("xmm", "ymm", "zmm") if kind in found))


def ways(note=""):
    """Two ways of one program, the second of which dies; notes that the program was started."""
    if note:
        with open(note, "a") as file:
            file.write("started\n")
    return {"first": works(1, 0.5), "second": works(2, 0.25), "third": dies(1)}


def cores():
    """Answers on which cores it may compute."""
    return Work(lambda: sorted(os.sched_getaffinity(0)), lambda found: found)


def talks():
    """Prints, as libraries do, what is no answer."""

    def run():
        print("welcome to the library")
        return 1

    return Work(run, lambda found: found, seconds=lambda found: 0.5)


def measures(figures):
    """Several things in one process."""
    return Work(lambda: figures, figures=True, warm_ups=0)
