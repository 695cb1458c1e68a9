"""A class on the disk for tests: folders of students, the small lab, and a marker that stands in for the real one.

The stand-in reads words in the notebook's bytes: FULL, HALF, CRASH (the exercise `double`), and for our own side
RAISE, EXIT, HANG. It counts what it marked, by process, in a file that MARKED_BY names.
"""

import os
import time
from pathlib import Path

from grader.classroom.class_file import ClassFile
from grader.marking.mark import Marks
from grader.marking.why_this_mark import ExerciseMark
from grader.runs.assignment import Assignment
from grader.runs.grade import grade
from tests.helpers.small_lab import cells_of, code, notebook

STATES_OF = {b"CRASH": "crashed"}


def hand_in(course, student, text="FULL", lab="small", name=None):
    """Put a notebook whose one cell is `text` (or these bytes) into the student's folder; return its bytes."""
    folder = course.root / "submitted" / student / lab
    folder.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else notebook([code(text)])
    (folder / (name or f"{lab}.ipynb")).write_bytes(data)
    return data


def answers(lab, changed=None):
    """Return the bytes of a notebook with the lab's solutions, or `changed` ones."""
    return notebook(cells_of(lab, changed))


def stand_in(lab, data, secret, sandbox):
    """Stand in for `mark_submission`: full marks for FULL, half of `double` for HALF; the rest as the head says."""
    if "MARKED_BY" in os.environ:
        with Path(os.environ["MARKED_BY"]).open("a") as file:
            file.write(f"{os.getpid()}\n")
    if b"RAISE" in data:
        raise ZeroDivisionError("ours")
    if b"EXIT" in data:
        os._exit(7)
    if b"HANG" in data:
        time.sleep(600)
    share = 1.0 if b"FULL" in data else 0.5 if b"HALF" in data else 0.0
    state = "crashed" if b"CRASH" in data else "graded"
    marks = [
        ExerciseMark(e.name, state, 0.0 if e.manual else share * e.points, e.points, f"share {share}", (), e.manual)
        for e in lab.exercises
    ]
    shown = {"type": "code", "text": data.decode("utf-8", "replace"), "exercise": "double", "given": False}
    return Marks(lab.name, tuple(marks), ({**shown, "pictures": ()},), "")


def graded(course, lab, rules=None, mark=stand_in, **settings):
    """Grade the class in this process, by the stand-in; return the `Grading`."""
    roster = settings.pop("roster", ())
    return grade(Assignment(course, lab, rules or ClassFile(), roster), mark=mark, **{"jobs": 0, **settings})


def scores(grading):
    """Return {student: score of the lab}."""
    found = {}
    for row in grading.rows:
        found[row.student] = found.get(row.student, 0) + row.score
    return found


def states(grading):
    """Return {student: the states of their exercises}."""
    found = {}
    for row in grading.rows:
        found.setdefault(row.student, set()).add(row.state)
    return found
