"""The history of every mark, and the report on the marks that changed.

`grading/history/LAB.jsonl` only ever grows. A line is one row of marks that is new or has changed; a row that comes out
the same adds nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from grader.classroom import atomic
from grader.classroom.folders import CourseFolder
from grader.classroom.marks_csv import Row


@dataclass(frozen=True)
class Change:
    """One row that changed: `before` is a Row, or None for a first mark."""

    before: Any
    after: Row
    at: str = ""


def record(course: CourseFolder, lab: str, rows: Iterable[Row], at: datetime) -> list[Change]:
    """Add the rows of `lab` (its name) that changed to the history, as of `at` (a datetime); return the `Change`s."""
    last = latest(course, lab)
    changes = [Change(last.get(row.key), row, at.isoformat()) for row in rows if last.get(row.key) != row]
    atomic.append_lines(_path(course, lab), [{"at": change.at, **asdict(change.after)} for change in changes])
    return changes


def latest(course: CourseFolder, lab: str) -> dict[tuple, Row]:
    """Return {(student, lab, exercise): Row}: the last recorded marks of `lab`."""
    return {change.after.key: change.after for change in changes_of(course, lab)}


def changes_of(course: CourseFolder, lab: str) -> list[Change]:
    """Return every `Change` of the marks of `lab`, the oldest first."""
    last: dict[tuple, Row] = {}
    changes = []
    for line in atomic.read_lines(_path(course, lab)):
        at, row = line.pop("at", ""), Row(**line)
        changes.append(Change(last.get(row.key), row, at))
        last[row.key] = row
    return changes


def differences(course: CourseFolder, lab: str, since: datetime | None = None) -> list[Change]:
    """Return the `Change`s of earlier marks: those of the last time that any mark changed, or all `since`.

    An exercise that changed twice in that time is listed once.
    """
    changes = [change for change in changes_of(course, lab) if change.before is not None]
    if not changes:
        return []
    start = since.isoformat() if since is not None else changes[-1].at
    merged: dict[tuple, Change] = {}
    for change in changes:
        if change.at >= start:
            merged[change.after.key] = replace(change, before=merged.get(change.after.key, change).before)
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
        scored = f"{before.score:g} -> {after.score:g} of {after.max_score:g}"
        lines.append(f"{after.student}, {after.exercise}: {scored} ({_why(change)})")
    return lines + [f"{change.after.student}, {change.after.exercise}: {_why(change)}" for change in words]


def _why(change):
    before, after = change.before.state, change.after.state
    return f"{before} -> {after}; {change.after.reason}" if before != after else change.after.reason


def _path(course, lab):
    return course.records / "history" / f"{lab}.jsonl"
