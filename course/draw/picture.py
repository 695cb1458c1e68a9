"""A picture in a notebook: inline SVG or HTML that takes the page's text colour and carries its own alt text.

Matplotlib is asked for text in a colour nobody uses, and that colour is then replaced by `currentColor`, so one stored
picture reads well in the light and in the dark theme.
"""

import hashlib
import io
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from itertools import zip_longest
from math import ceil
from typing import TYPE_CHECKING, Any

from course.draw.colours import TEXT
from course.signals import held_back

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = re.compile(r'(?:<use [^>]*style="([^"]*)"/>\s*)(?:<use [^>]*style="\1"/>\s*)+')  # of one look, in a row
_HATCHING = re.compile(r"<pattern .*?</pattern>", re.S)
_DOT = re.compile(r"M (\S+) (\S+) \n(?:C [^\n]*\n)+z\n")  # a circle, of eight curves
_COLOURED = re.compile(r"(<text [^>]*fill: )(#[0-9a-f]{6})")  # words in a colour of their own
_TEXT_SIZE = re.compile(r'<(?:text|svg) [^>]*?font(?:-size="|-size: |: )[^"\d]*([\d.]+)')
_LEGIBLE = 10  # pixels: no text of a picture is smaller
_ID = re.compile(r'( id="|url\(#|href="#)([^")]+)')  # where an id is given, and where it is used
_DRAWING = threading.RLock()  # rcParams are one per process; widget callbacks draw from several threads

STYLE: dict[Any, Any] = {
    "figure.figsize": (7.2, 3.6),  # one column at notebook width
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor"), TEXT),
    **dict.fromkeys(("xtick.color", "ytick.color", "hatch.color"), TEXT),
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "axes.grid", "legend.frameon"), False),
    "grid.color": "#7A7A7A",
    "grid.alpha": 0.25,
    "font.size": 10.5,
    "font.family": ["sans-serif"],
    "lines.linewidth": 2.0,
    "svg.fonttype": "none",  # text stays text: small, searchable, in the page's font
    "svg.hashsalt": "course",  # the same figure is the same bytes
}


@dataclass(frozen=True, repr=False)
class Picture:
    """HTML that shows itself in a notebook; `alt` says the same in words and is its plain text."""

    html: str
    alt: str

    def __repr__(self):
        return f"[picture] {self.alt}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self.html}


@cache
def text_of(package: str, name: str) -> str:
    """Return the text of the file called `name` that lies in `package`: a script, a style sheet."""
    return (files(package) / name).read_text(encoding="utf-8")


def css() -> str:
    """Return the course's style sheet as text."""
    return text_of("course.draw", "course.css")


def svg(width: float, height: float, parts: Iterable[str], alt: str) -> str:
    """Return an image of `parts`, elements of SVG, `width` × `height` pixels; `alt` says it in words."""
    return _legible(
        f'<svg role="img" aria-label="{escape(alt, quote=True)}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-size="12.5" fill="currentColor">{"".join(parts)}</svg>'
    )


def _legible(drawing):
    """Return an SVG that is never narrower than its smallest text bears; on a phone it is moved sideways."""
    _, _, wide, _ = map(float, re.search(r'viewBox="([^"]*)"', drawing)[1].split())
    least = ceil(_LEGIBLE * wide / min(map(float, _TEXT_SIZE.findall(drawing)), default=wide))
    bounded = drawing.replace("<svg ", f'<svg style="min-width:{least}px" ', 1)
    return f'<div style="overflow-x:auto">{bounded}</div>'


def html(body: str, alt: str) -> Picture:
    """Wrap an HTML fragment (trusted: escape what a reader typed) in the course's look and return a `Picture`."""
    return Picture(f'<div class="course"><style>{css()}</style>{body}</div>', alt)


@contextmanager
def figure(**settings: Any) -> Iterator[tuple[Any, Any]]:
    """Within the `with`, draw in the course's style on the `(figure, axes)` it gives; `settings` go to `subplots`.

    `title`, among the settings, stands above all axes. Call `picture(figure, alt)` afterwards to show it. Works in any
    thread: pyplot's hidden current figure is not used, and matplotlib's settings, which belong to the whole process,
    are restored at the end.
    """
    with held_back():
        import matplotlib
        from matplotlib.figure import Figure

    with _DRAWING, matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=settings.pop("figsize", None), layout="constrained")
        if title := settings.pop("title", ""):
            drawn.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        yield drawn, drawn.subplots(**settings)


def picture(figure: "Figure", alt: str) -> Picture:
    """Return the matplotlib `figure` as a `Picture` of inline SVG; `alt` states in words what it shows."""
    import matplotlib

    stream = io.StringIO()
    with _DRAWING, matplotlib.rc_context(STYLE):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :].replace(TEXT, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    label = f'<svg role="img" aria-label="{escape(alt, quote=True)}" '
    return html(_legible(_with_own_ids(_short(svg)).replace("<svg ", label, 1)), alt)


def _short(svg):
    """Return the drawing in fewer bytes: hundredths of a point, dots as points, the look of marks once a row.

    Words in a colour get a quarter of the text's: lines must stand out by 3 to 1, and words by 4.5, on either page.
    """
    svg = _COLOURED.sub(r"\1color-mix(in srgb, \2 75%, currentColor)", svg)
    svg = re.sub(r'="[^"]*"', lambda value: re.sub(r"(\d\.\d\d)\d+", r"\1", value[0]), svg)
    return _MARKS.sub(_with_one_look, _HATCHING.sub(_dotted, svg))


def _dotted(hatching):
    """Return a hatching of dots with each as a point of a round pen: 300 circles of eight curves are 48 kB."""
    text, dots = _DOT.subn(r"M\1 \2h0", hatching[0])
    round_pen = "stroke-width: 2.2; stroke-linecap: round"
    return text.replace("stroke-width: 1.0; stroke-linecap: butt", round_pen) if dots else text


def _with_one_look(marks):
    look = f'style="{marks[1]}"'
    return f"<g {look}>{marks[0].replace(f' {look}', '')}</g>"


def _with_own_ids(svg):
    """Number the ids inside `svg`, and name them after its contents.

    Matplotlib makes some of them from objects' addresses: numbered, the same figure is the same bytes. All pictures of
    a page share its ids. JupyterLab hides the cells that are out of sight, and a bar whose hatching is found in a
    hidden picture first is not drawn at all.
    """
    numbers: dict[str, int] = {}
    plain = _ID.sub(lambda id_: f"{id_[1]}{numbers.setdefault(id_[2], len(numbers))}", svg)
    own = "p" + hashlib.sha256(plain.encode()).hexdigest()[:10]
    return _ID.sub(rf"\g<1>{own}-\g<2>", plain)


def table(headings: Iterable[object], rows: Iterable[Iterable[object]], alt: str, caption: str = "") -> Picture:
    """Return a `Picture` of an HTML table; cells are escaped unless they are a `Picture`.

    Numbers are aligned right, a heading as the first cell below it.
    """

    def cell(value):
        return f"<td{_kind(value)}>{value.html if isinstance(value, Picture) else escape(str(value))}</td>"

    lines = [list(row) for row in rows]
    first = lines[0] if lines else []
    head = "".join(f"<th{_kind(value)}>{escape(str(h))}</th>" for h, value in zip_longest(headings, first))
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in lines)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return html(f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", alt)


def _kind(value):
    return ' class="number"' if isinstance(value, (int, float)) else ""
