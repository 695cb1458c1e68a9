"""`marks.csv`: one row an exercise, `student,lab,exercise,state,score,max_score,reason`.

The file is replaced whole or not at all. New rows replace those of the same students and lab; all other rows stay.
"""

import csv
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.class_file import LabRules
from grader.classroom.csv_cells import plain_cell, quoted_csv
from grader.classroom.folders import ClassError
from grader.marking.mark import Marks
from grader.sandbox.unsafe import WARNING


@dataclass(frozen=True)
class Row:
    """One exercise of one student: `state` is one of `mark.STATES`; scores are numbers, late penalties not in them."""

    student: str
    lab: str
    exercise: str
    state: str
    score: float
    max_score: float
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The identity of a row: student, lab, exercise."""
        return (self.student, self.lab, self.exercise)

    @property
    def is_pending(self) -> bool:
        """Whether there is no mark yet: the grader failed, or a file that could not be placed may be this student's."""
        return self.state in ("grader_failed", "unplaced")


HEADINGS = tuple(field.name for field in fields(Row))
_GO_ON = (
    "The marks are made and kept. To write them run the same command again, which marks nothing twice, "
    "or name another file with --marks."
)


def rows_of(student: str, marks: Marks, rules: LabRules, safe: bool = True) -> list[Row]:
    """Return the `Row`s of `marks` (`mark.Marks`) by the lab's `rules` of the class file (`LabRules`)."""
    rows = []
    for mark in marks.exercises:
        whole = rules.partial_credit or mark.score >= mark.max_score - 1e-9
        reason = " ".join(mark.reason.split("\n")) if safe else f"{WARNING}: {mark.reason}"
        score = mark.score if whole else 0.0
        rows.append(Row(student, marks.lab, mark.name, mark.state, score, mark.max_score, reason))
    return rows


def write_marks(path: Path | str, rows: Sequence[Row], labs_wholly: Collection[str] = ()) -> None:
    """Put `rows` into the marks file at `path`; no other row of the labs in `labs_wholly` stays.

    Raises ClassError, and leaves the file as it is, where it is in use, is no marks file, or can't be written.
    """
    path = Path(path)
    _refuse_in_use(path)
    # the file holds escaped cells, so the names are compared in that form
    written = {(plain_cell(row.student), row.lab) for row in rows}
    others = [cells for cells in _read(path) if cells[1] not in labs_wholly and tuple(cells[:2]) not in written]
    lines = [*others, *(_cells(row) for row in rows)]
    # rows that stay keep their order: another lab may have exercises of the same name
    order = {(row.lab, row.exercise): number for number, row in enumerate(rows)}
    lines.sort(key=lambda cells: (cells[1], cells[0], order.get((cells[1], cells[2]), 0)))
    try:
        atomic.write(path, quoted_csv([HEADINGS, *lines], "\n"))
    except OSError as error:
        raise ClassError(f"{path} can't be written: {error.strerror}. {_GO_ON}") from None


def _cells(row):
    cells = [plain_cell(value) if isinstance(value, str) else f"{value:g}" for value in astuple(row)]
    if row.is_pending:
        cells[HEADINGS.index("score")] = ""  # no mark yet; a zero would be one
    return cells


def _read(path):
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ClassError(f"{path} can't be read: {error}. {_GO_ON}") from None
    if lines and tuple(lines[0]) != HEADINGS:
        raise ClassError(f"{path} is no marks file: its first line is not {','.join(HEADINGS)}. {_GO_ON}")
    return [cells for cells in lines[1:] if len(cells) == len(HEADINGS)]


def _refuse_in_use(path):
    """Spreadsheet programs leave a file beside the one they have open, and would write their old state over the new."""
    for sign in (f".~lock.{path.name}#", f"~${path.name}"):
        if (path.parent / sign).exists():
            beside = f"{path} is open in a spreadsheet program ({sign} is beside it)"
            raise ClassError(f"{beside}. Close it there. {_GO_ON}")
    if path.is_dir():
        raise ClassError(f"{path} is a folder. {_GO_ON}")
