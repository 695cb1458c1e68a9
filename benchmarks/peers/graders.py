"""Other graders on light submissions, one a run: nbgrader by its command line and its API, Otter as `otter run`."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from benchmarks.contestant import Work

#: What their check cells hold in the place of the lab's own: the same questions, asked in the student's process.
TESTS = {
    "double": (3, "assert [list(double(np.array(a))) for a in ([], [1], [2, -7])] == [[], [2], [4, -14]]"),
    "total": (2, "assert [total(a) for a in ([], [1, 2], list(range(9)))] == [0, 3, 36]"),
    "shifted": (1, "assert shifted(4) == 7"),
}
_SOLUTIONS = {
    "double": "def double(values):\n    return 2 * np.asarray(values)",
    "total": "def total(values):\n    return sum(int(value) for value in values)",
    "shifted": "def shifted(number):\n    return total([number, OFFSET])",
}
_STUDENTS = 4  # every fourth has a wrong exercise


@contextmanager
def nbgrader_command():
    """`nbgrader autograde`, a student a run."""
    with _nbgrader_class() as root:
        numbers = count()

        def run():
            number = next(numbers) % _STUDENTS
            ask = ["autograde", "small", f"--student=student{number:03}", "--force"]
            _run(root, "-m", "nbgrader", *ask)
            return number

        yield Work(run, lambda number: _nbgrader_right(root, number), warm_ups=0)


@contextmanager
def nbgrader_api():
    """nbgrader's API in this process, a student a run."""
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    with _nbgrader_class() as root, contextlib.chdir(root):
        config = Config()
        config.CourseDirectory.root = str(root)
        api, numbers = NbGraderAPI(config=config), count()

        def run():
            number = next(numbers) % _STUDENTS
            found = api.autograde("small", f"student{number:03}", force=True)
            if not found["success"]:
                raise RuntimeError(found["log"])
            return number

        yield Work(run, lambda number: _nbgrader_right(root, number), warm_ups=1)


@contextmanager
def _nbgrader_class():
    import nbformat

    from benchmarks.topics.grading import make_class
    from grader.lab.release import release_notebook
    from grader.lab.source import check_id, load_lab

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "class"
        make_class(root, _STUDENTS)
        lab = load_lab(root / "source" / "small")
        for file in ("lab.py", "marking.py"):
            (root / "source" / "small" / file).unlink()
        source = release_notebook(lab)
        for cell in source.cells:
            name = next((name for name in TESTS if cell.id == check_id(name)), None)
            cell.source = TESTS[name][1] if name else cell.source
        nbformat.write(source, root / "source" / "small" / "small.ipynb")
        for path in root.glob("submitted/*/small/small.ipynb"):
            # nbgrader has its metadata from the release, and stops at the lab's cell that fails on purpose
            theirs, cells = nbformat.read(path, 4), {cell.id: cell for cell in source.cells}
            theirs.cells = [cell for cell in theirs.cells if "a picture" not in cell.source]
            for cell in theirs.cells:
                cell.metadata = cells[cell.id].metadata
            theirs.metadata = source.metadata
            nbformat.write(theirs, path)
        _run(root, "-m", "nbgrader", "generate_assignment", "small", "--force")
        yield root


def _run(root, *arguments):
    from benchmarks.topics.grading import with_path_of_python

    done = subprocess.run(
        [sys.executable, *arguments], cwd=root, env=with_path_of_python(), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments[:3])} ended with {done.returncode}: {done.stderr[-300:]}")


def _nbgrader_right(root, number):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        found = book.find_submission("small", f"student{number:03}").notebooks[0]
        scores = {grade.max_score_gradecell: grade.auto_score for grade in found.grades if grade.auto_score is not None}
    return scores.get(3.0) == (0.0 if number % 4 == 0 else 3.0)


@contextmanager
def otter():
    """Otter's own grading of a notebook, as its container does it, a student a run."""
    from nbformat import read, write

    # as the comparison of attacks makes an assignment
    from tests.slow.attacks.peers.drive_otter import answered, master

    tests = [[name, name, points, text] for name, (points, text) in TESTS.items()]
    work = {"given": ["import numpy as np\n\nOFFSET = 3"], "solutions": _SOLUTIONS, "tests": tests}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        root = Path(folder)
        write(master(work), root / "lab.ipynb")
        ask = ["otter", "assign", "--no-pdfs", "--no-run-tests", "lab.ipynb", "dist"]
        subprocess.run([sys.executable, "-m", *ask], check=True, capture_output=True)
        from otter.run import main as run_otter

        (archive,) = (root / "dist" / "autograder").glob("*.zip")
        numbers = count()

        def run():
            number = next(numbers) % _STUDENTS
            answers = {
                **_SOLUTIONS,
                **({"double": "def double(values):\n    return 3 * values"} if number == 0 else {}),
            }
            released = read(root / "dist" / "student" / "lab.ipynb", 4)
            write(answered(released, list(answers.items())), "handed_in.ipynb")
            with open(os.devnull, "w") as said, contextlib.redirect_stdout(said):
                run_otter("handed_in.ipynb", autograder=str(archive), output_dir=folder, no_logo=True)
            return number

        def right(number):
            found = json.loads((root / "results.json").read_text())["tests"]
            scores = {one["name"]: one.get("score") for one in found}  # the first says whether all went well
            return scores["double"] == (0.0 if number == 0 else 3.0) and scores["total"] == 2.0

        yield Work(run, right, warm_ups=1)
