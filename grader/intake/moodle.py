"""Moodle's grading worksheet, a CSV file: read for owners and times, and filled in with scores that Moodle imports.

Download it with "Download grading worksheet" (the feedback type "Offline grading worksheet" must be on). Moodle finds
a row by its Identifier, "Participant 1234"; 1234 is also the number in the names of that assignment's files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from grader.classroom.csv_cells import plain_csv
from grader.classroom.folders import ClassError
from grader.intake.roster import read_table

#: The heading of the teacher's comments, which are HTML.
COMMENTS = "Feedback comments"
_ABOUT = ("Full name", "Email address", "ID number", "Username")
_DAY = re.compile(r"^\w+,\s*")
_FORMATS = ("%d %B %Y, %I:%M %p", "%d %B %Y, %H:%M", "%B %d, %Y, %I:%M %p", "%d/%m/%Y, %H:%M", "%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True)
class Entry:
    """One row: who it is, when they last changed what they handed in (None if unknown), and the `row` as it stands."""

    number: str
    name: str
    email: str
    id_number: str
    login: str
    modified: datetime | None
    row: dict


def read_worksheet(path: Path | str, zone: tzinfo = UTC) -> dict[str, Entry]:
    """Return number -> `Entry` of the worksheet at `path`, times in `zone`. Raises ClassError for another file."""
    entries = {}
    for line, row in read_table(path):
        number = re.search(r"(\d+)$", row.get("Identifier", ""))
        if number is None:
            here = "Moodle's grading worksheet has: View all submissions, Download grading worksheet (in English)"
            raise ClassError(f"{path}, line {line}: it has no Identifier such as 'Participant 1234'. {here}.")
        if number[1] in entries:
            raise ClassError(f"{path}, line {line}: {row['Identifier']} stands in it twice. Download it again.")
        modified = read_time(row.get("Last modified (submission)", ""), zone)
        name, email, id_number, login = (row.get(heading, "") for heading in _ABOUT)
        entries[number[1]] = Entry(number[1], name, email, id_number, login, modified, row)
    return entries


def read_time(text: str, zone: tzinfo = UTC) -> datetime | None:
    """Return the time that Moodle writes as "Friday, 20 November 2026, 3:04 PM", or None for what isn't one."""
    for form in _FORMATS:
        try:
            return datetime.strptime(_DAY.sub("", text.replace("\u202f", " ").strip()), form).replace(tzinfo=zone)
        except ValueError:
            continue
    return None


def filled_worksheet(
    entries: Mapping[str, Entry], scores: Mapping[str, float], most: float, comments: Mapping[str, str] | None = None
) -> str:
    """Return the worksheet's text with the Grade of each number in `scores` filled in, out of `most`.

    `comments`: number -> HTML, for the column that Moodle has for them, where it is there. A number without a score
    gets an empty Grade: Moodle leaves those as they are. Cells are escaped (`csv_cells.plain_cell`).
    """
    headings = list(next(iter(entries.values())).row)
    for heading in ("Grade", "Last modified (grade)"):
        if heading not in headings:
            raise ClassError(f"the worksheet has no column {heading!r}, which Moodle asks for. Download it in English.")
    rows = [headings]
    for number, entry in entries.items():
        row = {**entry.row, "Grade": f"{scores[number]:.2f}" if number in scores else ""}
        row[COMMENTS] = (comments or {}).get(number, row.get(COMMENTS, ""))
        if "Maximum Grade" in row and number in scores:
            _refuse_another_maximum(row["Maximum Grade"], most)
        rows.append([row.get(heading, "") for heading in headings])
    return plain_csv(rows)


def _refuse_another_maximum(maximum_text, most):
    try:
        maximum = float(maximum_text.replace(",", "."))
    except ValueError:
        return
    if abs(maximum - most) > 1e-6:
        raise ClassError(
            f"in Moodle the assignment has {maximum:g} points, here the lab has {most:g}. Set `points = {maximum:g}` "
            "for the lab in class.toml, or the maximum grade in Moodle."
        )
