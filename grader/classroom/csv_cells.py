"""Cells of the CSV files that are written: a spreadsheet shows them and does not compute them."""

import csv
import io
from collections.abc import Iterable


def plain_cell(value: object) -> str:
    """Return `value` as text that a spreadsheet does not compute: it begins with none of = + - @, tab or line's end.

    A single "-", which Moodle writes for "never", stays.
    """
    text = str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") and text != "-" else text


def plain_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file of `rows`, each cell a `plain_cell`, as spreadsheet programs write it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([plain_cell(cell) for cell in row] for row in rows)
    return text.getvalue()
