"""Marking light numpy submissions: seconds a submission, by one and two processes, by nbgrader and by Otter.

Needs bubblewrap; nbgrader as the grading extra has it, Otter from the peers' environment.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil

from benchmarks.contest import OURS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_ONE, _TWO = "python -m grader, 1 process", "python -m grader, 2 processes"
_PEERS = "benchmarks.peers.graders:"


def contests(quick, places):
    """Yield the time of a submission, and whether memory grows over a class."""
    count, patience = (4, 120) if quick else (60, 600)

    def ours(name, jobs, what="seconds", count=count):
        work, amount = {"count": count, "jobs": jobs, "what": what}, 1 if what == "memory" else 1 / count
        return Contestant(name, f"{__name__}:graded", work, OURS, amount=amount, patience=patience)

    everyone = (
        ours(_ONE, 1),
        ours(_TWO, 2),
        Contestant("nbgrader autograde", _PEERS + "nbgrader_command", slow=True),
        Contestant("nbgrader's API", _PEERS + "nbgrader_api"),
        Contestant("otter run", _PEERS + "otter", needs="otter-grader", slow=True),
    )
    # a second process makes it 1.8 times as fast, and 200 submissions take 150 s
    targets = (Target(_TWO, _ONE, most=1 / 1.8), Target(_TWO, most=150 / 200))
    rounds = 1 if quick else 3

    def right(contestant, answer):
        return "" if answer is True else "the marks are not the right ones"

    # ours mark a class, start and end of the grader included; the others have it made ready, and mark one by one
    title = f"A class of {count} light submissions"
    yield Contest(title, "s a submission", everyone, "less", 1, rounds, targets, right)
    if not quick:
        # the gradebook is written once, by one process: this shows how much of the time it is
        marking, twice = (
            tuple(ours(*one, "marking") for one in ((_ONE, 1), (_TWO, 2))),
            (Target(_TWO, _ONE, most=1 / 1.8),),
        )
        yield Contest("Marking alone, no gradebook", "s a submission", marking, "less", 1, rounds, twice, right)
        title, flat = "Memory of the grader, second half of a class over first half", (Target(_TWO, most=1.1),)
        yield Contest(title, "times", (ours(_TWO, 2, "memory", 200),), "less", 1, 1, flat, right)


def make_class(root: Path, count: int) -> None:
    """Write a small lab and `count` submissions into the class's folder; every fourth has a wrong exercise."""
    from tests.helpers.small_lab import cells_of, notebook, write_small_lab

    (root / "source").mkdir(parents=True)
    lab = write_small_lab(root / "source")
    for number in range(count):
        folder = root / "submitted" / f"student{number:03}" / "small"
        folder.mkdir(parents=True)
        wrong = {"double": "def double(values):\n    return 3 * values"} if number % 4 == 0 else {}
        data = notebook(cells_of(lab, {**wrong, "words": f"words = 'I am number {number}'"}))
        (folder / "small.ipynb").write_bytes(data)


@contextmanager
def graded(count, jobs, what):
    """Mark a class of `count` by the command line.

    `what`: "seconds"; "marking", the seconds without a gradebook; "memory", second half over first half of the marking:
    the gradebook's libraries, and the program that makes its tables, come once at the end and grow with nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "class"
        make_class(root, count)
        more, figure = (() if what == "seconds" else ("--no-gradebook",)), "memory" if what == "memory" else "seconds"
        run = partial(_grade, root, jobs, more)
        yield Work(run, lambda _: _right(root, count), seconds=lambda found: found[figure], warm_ups=0)


def _grade(root, jobs, more):
    command = [sys.executable, "-m", "grader", "grade", str(root), "--lab", "small", "--again", *more]
    started, samples = time.monotonic(), []
    process = subprocess.Popen([*command, "--jobs", str(jobs)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        samples.append((time.monotonic() - started, _memory(process.pid)))
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"`grade` ended with exit status {process.returncode}; run it by hand on {root}.")
    seconds = time.monotonic() - started
    halves = [max((m for t, m in samples if (t < seconds / 2) is first), default=1) for first in (True, False)]
    return {"seconds": seconds, "memory": halves[1] / halves[0]}


def _memory(pid):
    """Return the bytes of the grader's own processes, without what runs in the sandboxes."""
    total = 0
    try:
        main = psutil.Process(pid)
        for one in [main, *main.children()]:
            total += one.memory_info().rss
    except psutil.Error:
        pass  # it has just ended
    return total


def _right(root, count):
    with (root / "marks.csv").open(newline="") as file:
        scores = [float(row["score"]) for row in csv.DictReader(file) if row["exercise"] == "double"]
    return scores == [0.0 if number % 4 == 0 else 3.0 for number in range(count)]


def with_path_of_python() -> dict[str, str]:
    """Return the environment in which this Python's own programs are found first."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
