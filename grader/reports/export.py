"""`export`: a lab's scores as files that Canvas and Moodle import, late penalties and manual marks counted.

A student whose mark isn't whole yet (ours failed, or a person's mark is due) gets an empty cell: never a zero.
"""

import csv
import io
from dataclasses import dataclass


@dataclass(frozen=True)
class Total:
    """What a student gets for a lab: `score` out of `most`, None while it isn't whole; `note` says why."""

    student: str
    score: float | None
    most: float
    note: str = ""


def plain_cell(value):
    """Return text that a spreadsheet shows and does not compute: no cell begins with = + - @, a tab or a line's end.

    A single "-", which Moodle writes for "never", stays.
    """
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") and text != "-" else text


def canvas_file(totals, people, column, most):
    """Return the text of a CSV file for Canvas's gradebook import, and whom Canvas will not find by a number.

    `totals`: list of `Total`; `people`: the roster; `column`: the assignment's heading in Canvas, best as Canvas
    exports it, "Lab 3 (81234)"; `most`: points possible.
    """
    known = {person.student: person for person in people}
    lines, unsure = [], []
    for total in totals:
        person = known.get(total.student)
        if person is None or not (person.canvas_id or person.sis_id or person.login):
            unsure.append(total.student)
        about = (total.student, "", "", "", "")
        if person is not None:
            about = (person.full_name or total.student, person.canvas_id, person.sis_id, person.login, person.section)
        lines.append([*about, _number(total.score)])
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column]
    return _text([head, ["    Points Possible", "", "", "", "", f"{most:g}"], *lines]), unsure


def moodle_file(totals, people, lab):
    """Return the text of a CSV file for Moodle's own gradebook import (Grades, Import, CSV file)."""
    known = {person.student: person for person in people}
    lines = []
    for total in totals:
        person = known.get(total.student)
        about = (person.login, person.sis_id, person.email) if person else ("", "", "")
        lines.append([total.student, *about, _number(total.score)])
    return _text([["Username", "Login", "ID number", "Email address", lab], *lines])


def _number(score):
    return "" if score is None else f"{score:.4g}" if score < 1000 else f"{score:.2f}"


def _text(lines):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([plain_cell(cell) for cell in line] for line in lines)
    return text.getvalue()
