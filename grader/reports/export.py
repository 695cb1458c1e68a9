"""`export`: a lab's scores as files that Canvas and Moodle import, late penalties and manual marks counted.

A student whose mark isn't whole yet (the grader failed, a person's mark is due, or a file without an owner may be
theirs) gets an empty cell: never a zero.
"""

from collections.abc import Sequence
from pathlib import Path

from grader.classroom.csv_cells import plain_csv, write_csv
from grader.intake.moodle import COMMENTS, filled_worksheet, read_worksheet
from grader.intake.owners import entry_of
from grader.intake.roster import Person
from grader.reports.comments import comment, is_ours
from grader.reports.lab_totals import Total, standing_totals
from grader.runs.assignment import Assignment


def write_exports(
    assignment: Assignment,
    canvas: Path | None = None,
    moodle: Path | None = None,
    worksheet: Path | None = None,
    missing: str = "zero",
) -> list[str]:
    """Write the files at these paths, where given; return lines on what is in them and what isn't.

    `missing`: the score of who has handed in nothing, one of `lab_totals.MISSING`.
    """
    course, lab, rules, people = assignment.course, assignment.lab, assignment.rules, assignment.people
    totals = standing_totals(assignment, missing)
    most = totals[0].most if totals else lab.points
    lines = []
    if canvas:
        column = rules.lab(lab.name).canvas or lab.name
        text, unsure = canvas_file(totals, people, column, most)
        write_csv(canvas, text)
        lines.append(f"{canvas}: {len(totals)} students, column {column!r}. Canvas: Gradebook, Import.")
        if unsure:
            lines.append(
                f"Canvas may not find {len(unsure)} of them: {', '.join(unsure[:5])} have no number in the roster. "
                f"Save Canvas's export of its gradebook as {course.root / 'roster.csv'}, remove their folders from "
                "submitted/, then import and grade again."
            )
    if moodle and worksheet:
        lines += _worksheet(totals, people, moodle, read_worksheet(worksheet, rules.timezone), most, lab.name)
    elif moodle:
        write_csv(moodle, moodle_file(totals, people, lab.name))
        lines.append(f"{moodle}: {len(totals)} students. Moodle: Grades, Import, CSV file.")
    lines += [f"{total.student}: no score yet ({total.note})." for total in totals if total.score is None]
    return lines


def canvas_file(totals: Sequence[Total], people: Sequence[Person], column: str, most: float) -> tuple[str, list[str]]:
    """Return the text of a CSV file for Canvas's gradebook import, and the students without a number of Canvas's.

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
    person_of = {person.student: person for person in people}
    return [(total, person_of.get(total.student, Person(total.student))) for total in totals]


def _number(score):
    return "" if score is None else f"{score:.4g}" if score < 1000 else f"{score:.2f}"


def _worksheet(totals, people, path, entries, most, lab):
    scores, comments, lost, persons_comments = {}, {}, [], 0
    for total in totals:
        number = entry_of(total.student, people, entries)
        if number is None:
            lost.append(total.student)
            continue
        theirs = not is_ours(lab, entries[number].row.get(COMMENTS, ""))
        persons_comments += theirs
        if total.score is not None:
            scores[number] = total.score
            if not theirs:
                comments[number] = comment(lab, total)
    write_csv(path, filled_worksheet(entries, scores, most, comments))
    lines = [f"{path}: {len(scores)} of {len(entries)} rows filled in. Moodle: Upload grading worksheet."]
    if COMMENTS not in next(iter(entries.values())).row:
        lines.append(f"It has no column {COMMENTS!r}: to give comments too, turn that feedback type on in Moodle.")
    if persons_comments:
        lines.append(f"{persons_comments} comments of persons stay as they are.")
    if lost:
        lines.append(f"{len(lost)} students are not in the worksheet: {', '.join(lost[:5])}.")
    return lines
