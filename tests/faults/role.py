"""`python -m course` with one more problem, `counting`: what the classic roles of a trial run.

Each worker also writes when it computed on which version, so that the time without an update can be seen from outside.
"""

import itertools
import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from course.__main__ import main
from course.training.problems import PROBLEMS, Known
from tests.faults.counting import Counting, counted

FOLDER = "COURSE_FAULT_TRACES"


@dataclass(frozen=True)
class Traced(Counting):
    """Counts pushes, and writes a line a gradient: seconds on the machine's monotonic clock, and the version."""

    folder: str = ""

    def batch(self, worker, version, generator):
        with open(Path(self.folder) / f"worker-{worker}-{os.getpid()}", "a") as file:
            file.write(f"{time.monotonic()} {version}\n")
        return super().batch(worker, version, generator)


def standstill(folder, since):
    """Return the longest time, from `since` on, in which no worker began a gradient, in seconds."""
    lines = [line.split() for path in Path(folder).iterdir() for line in path.read_text().splitlines()]
    moves = [since, *sorted(float(when) for when, *_ in lines if float(when) >= since)]
    return max((later - earlier for earlier, later in itertools.pairwise(moves)), default=0.0)


def _say(problem, parameters):
    yield f"counted {counted(parameters)}"


if __name__ == "__main__":
    folder = os.environ.get(FOLDER, ".")
    made = partial(Traced, 3, 0.01, 0, folder)
    PROBLEMS["counting"] = {"usual": Known(made, "sgd", 1.0, 500, _say)}
    for option in main.commands["train"].params:
        if option.name == "problem":
            option.type = type(option.type)(list(PROBLEMS))
    main(prog_name="python -m course")
