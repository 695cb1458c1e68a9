"""`python -m course` with one more problem, `counting`: what the classic roles of a trial run.

Each worker also writes when it computed on which version, so that the time without an update can be seen from outside.
"""

import faulthandler
import itertools
import os
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

import course.training.multihost.roles  # noqa: F401 (loads what a role needs, once for all)
from course.__main__ import main
from course.training.problems.named import PROBLEMS, NamedProblem
from tests.slow.faults.counting import SGD_1, Counting, counted


@dataclass(frozen=True)
class Traced(Counting):
    """Counts pushes, and writes a line a gradient: seconds on the machine's monotonic clock, and the version."""

    folder: str = ""

    def batch(self, worker, version, generator):
        with open(Path(self.folder) / f"worker-{worker}-{os.getpid()}", "a") as file:
            file.write(f"{time.monotonic()} {version}\n")
        return super().batch(worker, version, generator)


SGD_1([torch.zeros(1)])  # the first optimiser imports a good part of torch: here, before roles are forked


def standstill(folder, since):
    """Return the longest time, from `since` on, in which no worker began a gradient, in seconds."""
    lines = [line.split() for path in Path(folder).iterdir() for line in path.read_text().splitlines()]
    moves = [since, *sorted(float(when) for when, *_ in lines if float(when) >= since)]
    return max((later - earlier for earlier, later in itertools.pairwise(moves)), default=0.0)


def _say(problem, parameters):
    yield f"counted {counted(parameters)}"


def play(arguments, traces=".", log=None):
    """Be `python -m course` with these arguments; `traces`: the folder of `Traced`; `log`: a file for what is said.

    Ends the process. As the target of a forked process it is in a session of its own, as from a shell of its own.
    """
    if log is not None:
        os.setsid()
        with open(log, "a") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        faulthandler.enable()
    problem = partial(Traced, 3, 0.01, 0, str(traces))
    PROBLEMS["counting"] = {"usual": NamedProblem(problem, "sgd", 1.0, 500, _say)}
    try:
        main(arguments, prog_name="python -m course")
    finally:
        sys.stdout.flush()
