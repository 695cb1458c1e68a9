"""`export`: a lab's scores as files that Canvas and Moodle import, late penalties and manual marks counted.

A student whose mark isn't whole yet (the grader failed, or a person's mark is due; what could
not be placed may be theirs) gets an empty cell: never a zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.class_file import ClassFile
from grader.classroom.csv_cells import plain_csv
from grader.classroom.folders import ClassError
from grader.intake.moodle import filled_worksheet, read_worksheet
from grader.intake.owners import entry_of
from grader.intake.roster import Person
from grader.lab.spec import Lab
from grader.reports.gradebook import Manual, read_gradebook
from grader.runs.assignment import Assignment
from grader.runs.grade import Graded, standing

#: What who has handed in nothing gets: 0; an empty cell; an empty cell until it is due for them, then 0.
MISSING = ("zero", "empty", "when-due")


@dataclass(frozen=True)
class Total:
    """What a student gets for a lab: `score` out of `most`, None while it isn't whole; `note` says why."""

    student: str
    score: float | None
    most: float
    note: str = ""


def write_exports(
    assignment: Assignment,
    canvas: Path | None = None,
    moodle: Path | None = None,
    worksheet: Path | None = None,
    missing: str = "zero",
) -> list[str]:
    """Write the files asked for (paths, or None); return lines on what is in them and what isn't.

    `missing`: what who has handed in nothing gets, one of `MISSING`.
    """
    course, lab, rules, people = assignment.course, assignment.lab, assignment.rules, assignment.people
    totals = standing_totals(assignment, missing)
    most = totals[0].most if totals else lab.points
    lines = []
    if canvas:
        column = rules.lab(lab.name).canvas or lab.name
        text, unsure = canvas_file(totals, people, column, most)
        _write(canvas, text)
        lines.append(f"{canvas}: {len(totals)} students, column {column!r}. Canvas: Gradebook, Import.")
        if unsure:
            lines.append(
                f"Canvas may not find {len(unsure)} of them: {', '.join(unsure[:5])} have no number in the roster. "
                f"Save Canvas's export of its gradebook as {course.root / 'roster.csv'}, remove their folders from "
                "submitted/, then import and grade again."
            )
    if moodle and worksheet:
        lines += _worksheet(totals, people, moodle, read_worksheet(worksheet, rules.timezone), most)
    elif moodle:
        _write(moodle, moodle_file(totals, people, lab.name))
        lines.append(f"{moodle}: {len(totals)} students. Moodle: Grades, Import, CSV file.")
    lines += [f"{total.student}: no score yet ({total.note})." for total in totals if total.score is None]
    return lines


def standing_totals(assignment: Assignment, missing: str = "zero", now: datetime | None = None) -> list[Total]:
    """Return a `Total` a student as the marks stand `now`; `missing`: for who has handed in nothing, one of `MISSING`.

    Raises ClassError for "when-due" where the class file has no due date.
    """
    course, lab, rules = assignment.course, assignment.lab, assignment.rules
    if missing == "when-due" and rules.lab(lab.name).due is None:
        where = f"Add `due = 2026-12-01T23:59:00` under [lab.{lab.name}] in class.toml, or use --missing empty"
        raise ClassError(f"--missing when-due: {lab.name} has no due date. {where}.")
    graded, waiting = standing(assignment)
    totals = totals_of(lab, rules, graded, waiting, read_gradebook(course, lab))
    nothing = {one.student for one in graded if not one.sha and all(row.state == "missing" for row in one.rows)}
    if missing == "zero":
        return totals
    return [_unless_due(one, rules, lab.name, missing, now) if one.student in nothing else one for one in totals]


def _unless_due(total, rules, lab, missing, now):
    due = rules.due(total.student, lab)
    if missing == "when-due" and due is not None and due < (now or datetime.now(UTC)):
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
    found = [_total(lab, one, book.get(one.student, {}), most) for one in graded]
    found += [Total(student, None, most, "not marked yet") for student in waiting]
    return sorted(found, key=lambda total: total.student)


def _total(lab, one, entered, most):
    scores, pending = [], []
    for row in one.rows:
        theirs = entered.get(row.exercise)
        if theirs is not None and theirs.score is not None:
            scores.append(theirs.score)
        elif row.state == "unplaced":
            return Total(one.student, None, most, row.reason)
        elif row.is_pending:
            pending.append(f"{row.exercise}: our side failed, mark it again")
        elif lab.exercise(row.exercise).manual and row.state == "graded":
            pending.append(f"{row.exercise}: waits for a person's mark")
        else:
            scores.append(row.score)
    if pending:
        return Total(one.student, None, most, "; ".join(pending))
    score = sum(scores) * (1 - one.cost) * (most / lab.points if lab.points else 1.0)
    return Total(one.student, round(max(0.0, score), 4), most, f"late: -{one.cost:.0%}" if one.cost else "")


def canvas_file(totals: Sequence[Total], people: Sequence[Person], column: str, most: float) -> tuple[str, list[str]]:
    """Return the text of a CSV file for Canvas's gradebook import, and whom Canvas will not find by a number.

    `totals`: list of `Total`; `people`: the roster; `column`: the assignment's heading in Canvas, best as Canvas
    exports it, "Lab 3 (81234)"; `most`: points possible.
    """
    lines, unsure = [], []
    for total, person in _with_persons(totals, people):
        numbers = (person.canvas_id, person.sis_id, person.login)
        if not any(numbers):
            unsure.append(total.student)
        lines.append([person.full_name or total.student, *numbers, person.section, _number(total.score)])
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column]
    return plain_csv([head, ["    Points Possible", "", "", "", "", f"{most:g}"], *lines]), unsure


def moodle_file(totals: Sequence[Total], people: Sequence[Person], lab: str) -> str:
    """Return the text of a CSV file for Moodle's own gradebook import (Grades, Import, CSV file)."""
    lines = [[t.student, p.login, p.sis_id, p.email, _number(t.score)] for t, p in _with_persons(totals, people)]
    return plain_csv([["Username", "Login", "ID number", "Email address", lab], *lines])


def _with_persons(totals, people):
    known = {person.student: person for person in people}
    return [(total, known.get(total.student, Person(total.student))) for total in totals]


def _number(score):
    return "" if score is None else f"{score:.4g}" if score < 1000 else f"{score:.2f}"


def _worksheet(totals, people, path, entries, most):
    scores, lost = {}, []
    for total in totals:
        number = entry_of(total.student, people, entries)
        if number is None:
            lost.append(total.student)
        elif total.score is not None:
            scores[number] = total.score
    _write(path, filled_worksheet(entries, scores, most))
    lines = [f"{path}: {len(scores)} of {len(entries)} rows filled in. Moodle: Upload grading worksheet."]
    if lost:
        lines.append(f"{len(lost)} students are not in the worksheet: {', '.join(lost[:5])}.")
    return lines


def _write(path, text):
    if path.is_dir():
        raise ClassError(f"{path} is a folder; name a file.")
    atomic.write(path, "\ufeff" + text if not text.isascii() else text)
