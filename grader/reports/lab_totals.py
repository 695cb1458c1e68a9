"""Each student's score for a lab: late penalties and manual marks counted, and no number where it isn't whole.

It isn't whole while the grader failed, a person's mark is due, or a file without an owner may be theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from grader.classroom.class_file import ClassFile
from grader.classroom.folders import ClassError
from grader.lab.spec import Lab
from grader.reports.gradebook import Manual, read_gradebook
from grader.runs.assignment import Assignment
from grader.runs.grade import Graded, standing

#: The score of who has handed in nothing: 0; an empty cell; an empty cell until it is due for them, then 0.
MISSING = ("zero", "empty", "when-due")


@dataclass(frozen=True)
class Total:
    """A student's score for a lab: `score` out of `most`, None while it isn't whole; `note` says why.

    `exercises`: a line on each, with its points in the lab, its reason, and a person's comment.
    """

    student: str
    score: float | None
    most: float
    note: str = ""
    exercises: tuple[str, ...] = ()


def standing_totals(assignment: Assignment, missing: str = "zero", time: datetime | None = None) -> list[Total]:
    """Return a `Total` a student as the marks stand `time`; `missing`: for who has handed in nothing, one of `MISSING`.

    Raises ClassError for "when-due" where the class file has no due date.
    """
    course, lab, rules = assignment.course, assignment.lab, assignment.rules
    if missing == "when-due" and rules.lab(lab.name).due is None:
        where = f"Add `due = 2026-12-01T23:59:00` under [lab.{lab.name}] in class.toml, or use --missing empty"
        raise ClassError(f"--missing when-due: {lab.name} has no due date. {where}.")
    graded, waiting = standing(assignment)
    totals = totals_of(lab, rules, graded, waiting, read_gradebook(course, lab))
    nothing = {entry.student for entry in graded if not entry.sha and all(row.state == "missing" for row in entry.rows)}
    if missing == "zero":
        return totals
    return [
        _unless_due(entry, rules, lab.name, missing, time) if entry.student in nothing else entry for entry in totals
    ]


def _unless_due(total, rules, lab, missing, time):
    due = rules.due(total.student, lab)
    if missing == "when-due" and due is not None and due < (time or datetime.now(UTC)):
        return total
    return replace(total, score=None, note="not handed in" + (f", due {due:%Y-%m-%d %H:%M}" if due else ""))


def totals_of(
    lab: Lab,
    rules: ClassFile,
    graded: Sequence[Graded],
    waiting: Sequence[str],
    book: Mapping[str, Mapping[str, Manual]],
) -> list[Total]:
    """Return a `Total` a student. `graded`, `waiting`: as `grade.standing` gives; `book`: as `read_gradebook` gives."""
    most = rules.lab(lab.name).points or lab.points
    totals = [_total(lab, student_marks, book.get(student_marks.student, {}), most) for student_marks in graded]
    totals += [Total(student, None, most, "not marked yet") for student in waiting]
    return sorted(totals, key=lambda total: total.student)


def _total(lab, student_marks, entered, most):
    scores, pending, exercise_lines = [], [], []
    for row in student_marks.rows:
        theirs = entered.get(row.exercise, Manual())
        exercise_lines.append(_line(row, theirs))
        if theirs.score is not None:
            scores.append(theirs.score)
        elif row.state == "unplaced":
            return Total(student_marks.student, None, most, row.reason)
        elif row.is_pending:
            pending.append(f"{row.exercise}: our side failed, mark it again")
        elif lab.exercise(row.exercise).manual and row.state == "graded":
            pending.append(f"{row.exercise}: waits for a person's mark")
        else:
            scores.append(row.score)
    if pending:
        return Total(student_marks.student, None, most, "; ".join(pending))
    score = sum(scores) * (1 - student_marks.cost) * (most / lab.points if lab.points else 1.0)
    late = f"late: -{student_marks.cost:.0%}" if student_marks.cost else ""
    return Total(student_marks.student, round(max(0.0, score), 4), most, late, tuple(exercise_lines))


def _line(row, theirs):
    score = row.score if theirs.score is None else theirs.score
    line = f"{row.exercise}: {score:g} of {row.max_score:g}."
    if theirs.score is None and score < row.max_score:
        line += f" {row.reason}"
    return f"{line} {theirs.comment}".rstrip() if theirs.comment else line
