"""Who was busy, and when: a clock's spans as lanes in SVG, drawn with nothing but text."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from simgpu.units import seconds_in_words

if TYPE_CHECKING:
    from simgpu.clock.modelled_clock import Span

_WIDTH, _LEFT, _ROW = 720, 130, 28  # pixels: the picture, the lanes' names, a lane's height
_SHADES = {"launch": "#4477aa", "host": "#4477aa", "wait": "#dddddd", "work": "#228833", "copy": "#ccbb44"}


@dataclass(frozen=True, repr=False)
class Lanes:
    """A picture: `svg` for a page, shown by a notebook; `alt` says in words what it shows, and is the repr."""

    svg: str
    alt: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.alt


def lanes(spans: "Sequence[Span]", title: str, label: str) -> Lanes:
    """Return the `Lanes` of `spans`, the host's on top; `label` says what kind of seconds these are."""
    rows = ["host", *sorted({span.lane for span in spans} - {"host"})]
    start = min((span.start for span in spans), default=0.0)
    length = max((span.stop for span in spans), default=start) - start
    scale = (_WIDTH - _LEFT) / length if length else 0.0
    words = f"{seconds_in_words(length)}, {label}"
    parts = [f'<text x="0" y="16">{escape(f"{title}: {words}" if title else words)}</text>']
    parts += [f'<text x="0" y="{_ROW * row + 46}">{escape(name)}</text>' for row, name in enumerate(rows)]
    for span in spans:
        x, y = _LEFT + (span.start - start) * scale, _ROW * rows.index(span.lane) + 30
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{max((span.stop - span.start) * scale, 0.5):.1f}" height="{_ROW - 6}" '
            f'fill="{_SHADES.get(span.what, "#ee6677")}"><title>{escape(span.name or span.what)}, '
            f"{seconds_in_words(span.stop - span.start)}</title></rect>"
        )
    alt = f"{title}. {len(spans)} spans on {len(rows)} lanes over {words}."
    size = f'viewBox="0 0 {_WIDTH} {_ROW * len(rows) + 34}" width="{_WIDTH}"'
    body = f'<g font-family="sans-serif" font-size="12">{"".join(parts)}</g>'
    return Lanes(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><desc>{escape(alt)}</desc>{body}</svg>', alt
    )
