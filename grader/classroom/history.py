"""What every mark was and when, and the report on which are not what they were.

`grading/history/LAB.jsonl`, to which lines are only ever added. A line is one row of marks that is new or is not as it
was. Marking again what comes out the same adds nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from grader.classroom import atomic
from grader.classroom.folders import CourseFolder
from grader.classroom.marks_csv import Row


@dataclass(frozen=True)
class Change:
    """One row that is not as it was: `before` is a Row, or None for a first mark."""

    before: Any
    after: Row
    at: str = ""


def record(course: CourseFolder, lab: str, rows: Iterable[Row], at: datetime) -> list[Change]:
    """Add what is new in `rows` of `lab` (its name) to the history, as of `at` (a datetime); return the `Change`s."""
    last = latest(course, lab)
    changes = [Change(last.get(row.key), row, at.isoformat()) for row in rows if last.get(row.key) != row]
    atomic.append_lines(_path(course, lab), [{"at": change.at, **asdict(change.after)} for change in changes])
    return changes


def latest(course: CourseFolder, lab: str) -> dict[tuple, Row]:
    """Return {(student, lab, exercise): Row}: the marks of `lab` as they were recorded last."""
    return {change.after.key: change.after for change in changes_of(course, lab)}


def changes_of(course: CourseFolder, lab: str) -> list[Change]:
    """Return every `Change` of the marks of `lab`, the oldest first."""
    last: dict[tuple, Row] = {}
    found = []
    for told in atomic.read_lines(_path(course, lab)):
        at = told.pop("at", "")
        row = Row(**told)
        found.append(Change(last.get(row.key), row, at))
        last[row.key] = row
    return found


def differences(course: CourseFolder, lab: str, since: datetime | None = None) -> list[Change]:
    """Return the `Change`s of marks that there were before: those of the last time that any changed, or `since`.

    `lab` is a name, `since` a datetime. An exercise that changed twice in that time is told once.
    """
    changes = [change for change in changes_of(course, lab) if change.before is not None]
    if not changes:
        return []
    start = since.isoformat() if since is not None else changes[-1].at
    merged: dict[tuple, Change] = {}
    for change in changes:
        if change.at >= start:
            before = merged[change.after.key].before if change.after.key in merged else change.before
            merged[change.after.key] = type(change)(before, change.after, change.at)
    return [change for change in merged.values() if change.before != change.after]


def report(changes: Sequence[Change]) -> list[str]:
    """Return the changes as lines of text, scores that changed first."""
    if not changes:
        return ["No mark changed."]
    scores = [change for change in changes if change.before.score != change.after.score]
    words = [change for change in changes if change.before.score == change.after.score]
    gone = sum(change.after.score < change.before.score for change in scores)
    lines = [f"{len(scores)} scores changed, {gone} of them down; {len(words)} more have other words or another state."]
    for change in scores:
        before, after = change.before, change.after
        lines.append(
            f"{_who(after)}: {before.score:g} -> {after.score:g} of {after.max_score:g} ({_why(before, after)})"
        )
    lines += [f"{_who(change.after)}: {_why(change.before, change.after)}" for change in words]
    return lines


def _who(row):
    return f"{row.student}, {row.exercise}"


def _why(before, after):
    state = f"{before.state} -> {after.state}; " if before.state != after.state else ""
    return f"{state}{after.reason}"


def _path(course, lab):
    return course.kept / "history" / f"{lab}.jsonl"
