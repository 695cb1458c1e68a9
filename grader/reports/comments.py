"""The comment on a score, for the column that Moodle's worksheet has for it."""

from html import escape

from grader.marking.plain_text import plain
from grader.reports.lab_totals import Total


def comment(lab: str, total: Total) -> str:
    """Return the comment on a score as HTML, as Moodle wants it; a line for each exercise."""
    note = f" ({total.note})" if total.note else ""
    lines = "".join(f"<li>{escape(plain(line))}</li>" for line in total.exercises)
    head = f"{_begins(lab)}{total.score:g} of {total.most:g} points{escape(note)}.</p>"
    return f"{head}<ul>{lines}</ul>" if lines else head


def is_ours(lab: str, text: str) -> bool:
    """Return whether the comment `text` may be replaced: it is empty, or an earlier one of ours."""
    return not text.strip() or text.lstrip("'").startswith(_begins(lab))


def _begins(lab):
    return f"<p>{escape(lab)}: "
