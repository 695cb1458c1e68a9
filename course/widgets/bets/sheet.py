"""The HTML of a bet, an answer or a card: an exhibit whose data hold everything, and a still of words."""

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from course.draw import Picture, html
from course.draw.picture import svg
from course.widgets.exhibits.page import key_of, page
from course.widgets.exhibits.page_files import files_of

_ROOM = "course.widgets.bets"
_WIDTH, _LINE = 700, 20  # pixels of a still
_LETTERS = 92  # in a line of it


def sheet(drawing: str, data: Mapping[str, Any], without: Picture, *tools: str) -> Picture:
    """Return `data` (plain values), drawn in the page by this room's file `drawing`; `without` is the still.

    `tools`: more files, as `files_of` finds them. The same data give the same bytes in every kernel.
    """
    files = files_of("bets.css", "exhibits/scales.js", "kept.js", "axes.js", *tools, drawing, room=_ROOM)
    return page(f"bet-{key_of(drawing, data)}", data, files, without)


def still(lines: Sequence[str]) -> Picture:
    """Return a picture of `lines` of words, the first one bold; long ones are broken."""
    broken = [(part, place == 0) for place, line in enumerate(lines) for part in textwrap.wrap(line, _LETTERS)]
    texts = "".join(
        f'<text x="2" y="{_LINE * row + 16}" font-weight="{"bold" if first else "normal"}">{escape(words)}</text>'
        for row, (words, first) in enumerate(broken)
    )
    alt = " ".join(line if line[-1:] in ".?!" else f"{line}." for line in lines if line)
    return html(svg(_WIDTH, _LINE * len(broken) + 6, [texts], alt), alt)
