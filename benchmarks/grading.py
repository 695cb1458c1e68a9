"""Marking a class of light numpy submissions: by one and two processes, and nbgrader on the same notebooks.

COURSE_BENCH_CLASS is the number of submissions, 200 if it isn't set. Needs bubblewrap and nbgrader.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import psutil

from benchmarks.report import Row
from grader.lab.release import release_notebook
from grader.lab.source import check_id, load_lab
from tests.helpers.small_lab import cells_of, notebook, write_small_lab

CLASS = int(os.environ.get("COURSE_BENCH_CLASS", "200"))
BY_COMMAND, BY_API = 3, 6  # notebooks that nbgrader is timed on
#: What nbgrader's check cells hold in the place of the lab's own: the same questions, asked in the student's process.
TESTS = {
    "double": "assert [list(double(np.array(a))) for a in ([], [1], [2, -7])] == [[], [2], [4, -14]]",
    "total": "assert [total(a) for a in ([], [1, 2], list(range(9)))] == [0, 3, 36]",
    "shifted": "assert shifted(4) == 7",
}


def rows():
    """Yield seconds for a class, what a second process is worth, what memory does, and nbgrader's time a notebook."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "class"
        _class(root, CLASS)
        one, two = _graded(root, 1), _graded(root, 2)
        _graded_right(root)
        yield Row(
            f"{CLASS} light submissions, 2 processes", two.seconds, "s", "one process", one.seconds, "≤ 150 s for 200"
        )
        yield Row("a second process makes it faster by", one.seconds / two.seconds, "times", limit="≥ 1.8")
        yield Row("memory, second half over first half", two.memory, "times", limit="flat: ≤ 1.1")
        each = one.seconds / CLASS
        by_command, by_api = _nbgrader(Path(folder) / "nbgrader")
        yield Row("one submission", each, "s", "nbgrader's command line", by_command)
        yield Row("one submission", each, "s", "nbgrader's API", by_api)


class _Run:
    """Seconds that marking the class took, and how its largest memory in the second half compares with the first."""

    def __init__(self, seconds, memory):
        self.seconds, self.memory = seconds, memory


def _class(root, count):
    (root / "source").mkdir(parents=True)
    lab = write_small_lab(root / "source")
    for number in range(count):
        folder = root / "submitted" / f"student{number:03}" / "small"
        folder.mkdir(parents=True)
        wrong = {"double": "def double(values):\n    return 3 * values"} if number % 4 == 0 else {}
        data = notebook(cells_of(lab, {**wrong, "words": f"words = 'I am number {number}'"}))
        (folder / "small.ipynb").write_bytes(data)


def _graded(root, jobs):
    command = [sys.executable, "-m", "grader", "grade", str(root), "--lab", "small", "--again"]
    started, samples = time.monotonic(), []
    process = subprocess.Popen([*command, "--jobs", str(jobs)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        samples.append((time.monotonic() - started, _memory(process.pid)))
        time.sleep(0.2)
    if process.returncode:
        raise RuntimeError(f"`grade` ended with exit status {process.returncode}; run it by hand on {root}.")
    seconds = time.monotonic() - started
    halves = [max((m for t, m in samples if (t < seconds / 2) is first), default=1) for first in (True, False)]
    return _Run(seconds, halves[1] / halves[0])


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


def _graded_right(root):
    with (root / "marks.csv").open(newline="") as file:
        scores = [float(row["score"]) for row in csv.DictReader(file) if row["exercise"] == "double"]
    assert scores == [0.0 if number % 4 == 0 else 3.0 for number in range(CLASS)], "the marks are not the right ones"


def _nbgrader(root):
    """Return nbgrader's seconds for one notebook, by its command line and by its API."""
    count = BY_COMMAND + BY_API
    _class(root, count)
    lab = load_lab(root / "source" / "small")
    for file in ("lab.py", "marking.py"):
        (root / "source" / "small" / file).unlink()
    source = release_notebook(lab)
    for cell in source.cells:
        name = next((name for name in TESTS if cell.id == check_id(name)), None)
        cell.source = TESTS[name] if name else cell.source
    nbformat.write(source, root / "source" / "small" / "small.ipynb")
    for path in root.glob("submitted/*/small/small.ipynb"):
        # nbgrader has its metadata from the release, and stops at the lab's cell that fails on purpose
        theirs, cells = nbformat.read(path, 4), {cell.id: cell for cell in source.cells}
        theirs.cells = [cell for cell in theirs.cells if "a picture" not in cell.source]
        for cell in theirs.cells:
            cell.metadata = cells[cell.id].metadata
        theirs.metadata = source.metadata
        nbformat.write(theirs, path)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(*arguments):
        started = time.monotonic()
        subprocess.run([sys.executable, *arguments], cwd=root, env=environment, check=True, capture_output=True)
        return time.monotonic() - started

    run("-m", "nbgrader", "generate_assignment", "small", "--force")
    by_command = sorted(
        run("-m", "nbgrader", "autograde", "small", f"--student=student{number:03}") for number in range(BY_COMMAND)
    )
    program = (
        "import time\nfrom nbgrader.apps import NbGraderAPI\nfrom traitlets.config import Config\n"
        "config = Config()\nconfig.CourseDirectory.root = '.'\napi = NbGraderAPI(config=config)\n"
        f"for number in range({BY_COMMAND}, {count}):\n"
        "    started = time.monotonic()\n"
        "    found = api.autograde('small', f'student{number:03}')\n"
        "    assert found['success'], found['log']\n"
        "    print(time.monotonic() - started)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=environment, check=True, capture_output=True, text=True
    )
    by_api = sorted(float(line) for line in found.stdout.split())
    return by_command[len(by_command) // 2], by_api[len(by_api) // 2]
