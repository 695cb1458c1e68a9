"""Cells of the CSV files that are written: a spreadsheet shows them and does not compute them.

The separator is a setting of whoever opens the file: read with semicolons, one of our cells becomes two, and its quotes
lose their meaning. So the text after a semicolon, a tab or a line's end is escaped, too.
"""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from grader.classroom import atomic
from grader.classroom.folders import ClassError

#: Where a cell may begin, for some program, and a formula with it; the last four signs are those of wide keyboards.
_FORMULA = re.compile('(^|[;\t\r\n])(?=[\\s"]*[=+\\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])')


def plain_cell(value: object) -> str:
    """Return `value` as text that a spreadsheet does not compute: a ' stands before each formula that it may see.

    A single "-", which Moodle writes for "never", stays.
    """
    text = str(value)
    return text if text == "-" else _FORMULA.sub(r"\1'", text)


def plain_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file of `rows`, each cell a `plain_cell`, as spreadsheet programs write it."""
    return quoted_csv([plain_cell(cell) for cell in row] for row in rows)


def write_csv(path: Path, text: str) -> None:
    """Put the `text` of a CSV file into the file at `path`, with a mark of UTF-8 in front where it is not ASCII.

    Raises ClassError where `path` is a folder.
    """
    if path.is_dir():
        raise ClassError(f"{path} is a folder; name a file.")
    atomic.write(path, text if text.isascii() else "\ufeff" + text)


def quoted_csv(rows: Iterable[Iterable[str]], line_end: str = "\r\n") -> str:
    """Return the text of a CSV file of `rows` as they are, every cell in quotes."""
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()
