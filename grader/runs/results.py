"""Results: the marks of one notebook, kept by the notebook's bytes, so that none is marked twice.

`grading/results/LAB/STUDENT/SHA.json`. A result is good as long as the lab and this package are as they were when it
was made: `fingerprint`. Policies of the class file are not in it.
"""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import CourseFolder
from grader.marking.mark import Marks
from grader.marking.why_this_mark import ExerciseMark
from grader.sandbox.installation import CHECKOUT, OWN_PACKAGES


@dataclass(frozen=True)
class Result:
    """The `marks` of the notebook `sha` of `student`; `safe`: made in a sandbox; `at`: when, with a time zone."""

    student: str
    sha: str
    marks: Marks
    fingerprint: str
    safe: bool
    at: datetime


def save_result(course: CourseFolder, result: Result) -> None:
    """Keep `result`, all of it or, in a power cut, none."""
    entry = {**asdict(result), "at": result.at.isoformat()}
    atomic.write_json(_path(course, result.marks.lab, result.student, result.sha), entry)


def read_result(course: CourseFolder, lab: str, student: str, sha: str) -> Result | None:
    """Return the `Result` kept for that notebook, or None."""
    entry = atomic.read_json(_path(course, lab, student, sha))
    if entry is None:
        return None
    marks = entry["marks"]
    exercises = tuple(
        ExerciseMark(**{**exercise, "cases": tuple(exercise["cases"])}) for exercise in marks["exercises"]
    )
    cells = tuple({**cell, "pictures": tuple(cell["pictures"])} for cell in marks["cells"])
    marks = Marks(marks["lab"], exercises, cells, marks["log"])
    return Result(**{**entry, "marks": marks, "at": datetime.fromisoformat(entry["at"])})


def is_good(result: Result | None, fingerprint: str, safe: bool, since: datetime | None = None) -> bool:
    """Return whether `result` still holds. One made without a sandbox doesn't where `safe`, which asks for one."""
    if result is None or result.fingerprint != fingerprint or (since and result.at < since):
        return False
    failed = any(mark.state == "grader_failed" for mark in result.marks.exercises)  # it is to be marked again
    return not failed and (result.safe or not safe)


def fingerprint(folder: Path | str) -> str:
    """Return a name for the lab's sources as they stand, and the course's own code, oracles among it."""
    digest = hashlib.sha256(_of_the_package())
    for path in sorted(Path(folder).iterdir()):
        if path.is_file() and path.suffix != ".ipynb":
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _of_the_package():
    digest = hashlib.sha256()
    for path in sorted(path for package in OWN_PACKAGES for path in (CHECKOUT / package).rglob("*.py")):
        name = path.relative_to(CHECKOUT).as_posix()
        if not name.startswith(("course/widgets", "course/draw")):
            digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


def _path(course, lab, student, sha):
    return course.records / "results" / lab / student / f"{sha}.json"
