"""What every mark was and when: `grading/history/LAB.jsonl`, to which lines are only ever added.

A line is one row of marks that is new or is not as it was. Marking again what comes out the same adds nothing.
"""

from dataclasses import asdict, dataclass

from grader.classroom import atomic
from grader.classroom.marks_csv import Row


@dataclass(frozen=True)
class Change:
    """One row that is not as it was: `before` is None for a first mark."""

    before: Row | None
    after: Row
    at: str = ""


def record(course, lab, rows, at):
    """Add what is new in `rows` of `lab` (its name) to the history, as of `at` (a datetime); return the `Change`s."""
    last = latest(course, lab)
    changes = [Change(last.get(row.key), row, at.isoformat()) for row in rows if last.get(row.key) != row]
    atomic.append_lines(_path(course, lab), [{"at": change.at, **asdict(change.after)} for change in changes])
    return changes


def latest(course, lab):
    """Return {(student, lab, exercise): Row}: the marks of `lab` as they were recorded last."""
    return {change.after.key: change.after for change in changes_of(course, lab)}


def changes_of(course, lab):
    """Return every `Change` of the marks of `lab`, the oldest first."""
    last, found = {}, []
    for told in atomic.read_lines(_path(course, lab)):
        at = told.pop("at", "")
        row = Row(**told)
        found.append(Change(last.get(row.key), row, at))
        last[row.key] = row
    return found


def _path(course, lab):
    return course.kept / "history" / f"{lab}.jsonl"
