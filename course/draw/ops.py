"""Where ops ran: a lane for each device, a row for each op, an arrow as wide as its bytes where a tensor moved."""

from collections.abc import Iterable, Sequence
from html import escape
from math import log2
from typing import Any

from course.draw.colours import ROLES, role_of
from course.draw.picture import Picture, html, svg

_ROW = 26  # pixels
_GUTTER = 84  # left of the lanes: forward or backward
_LANE = 190
_MOST = 60  # rows; a longer log is cut, and the picture says so


def ops(records: Sequence[Any], title: str, joined: Iterable[tuple[int, int]] = ()) -> Picture:
    """Return a `Picture` of `records`, in order from top to bottom; `title` states what they show.

    A record has `op`, `device`, `origin` (None, or the device its bytes came from), `bytes_moved`, `backward`, `view`
    and `simulated`, as a placement log's records have. `joined`: pairs (place, place) in `records`; a line goes from
    the first, which made something, to the second, which read it.
    """
    shown = records[:_MOST]
    lanes = sorted({r.device for r in shown} | {r.origin for r in shown if r.origin}, key=_lane_order)
    height = (len(shown) + 1) * _ROW + 10
    width = _GUTTER + _LANE * max(len(lanes), 1) + (240 if any(r.seconds_text for r in shown) else 150)
    simulated = {name for r in shown if r.simulated for name in (r.device, r.origin or "")}
    parts = [_heading(name, index, name in simulated) for index, name in enumerate(lanes)]
    for row, record in enumerate(shown, start=1):
        starts = row == 1 or shown[row - 2].backward != record.backward
        parts.append(_row(record, row, lanes, starts))
    parts += [_join(shown, lanes, *pair) for pair in joined if max(pair) < len(shown)]
    more = f'<p class="note">… and {len(records) - _MOST} more ops.</p>' if len(records) > _MOST else ""
    alt = f"{title}. {_in_words(records)}"
    return html(f"<div><b>{escape(title)}</b></div>{svg(width, height, parts, alt)}{more}", alt)


def _heading(name, index, simulated):
    # meta computes nothing: as everything simulated it is dashed and says the word
    word = (" (simulated)" if simulated else " (shapes only)") if _dashes(name, simulated) else ""
    role, fits = role_of(name), len(name + word) <= _LANE // 8
    squeezed = "" if fits else f' textLength="{_LANE - 8}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{_middle(index)}" y="15" text-anchor="middle" font-weight="bold"{squeezed}>'
        f'<tspan fill="{role.colour}">{role.sign}</tspan> {escape(name + word)}</text>'
    )


def _row(record, row, lanes, starts):
    middle, y = _middle(lanes.index(record.device)), _height(row)
    parts = [  # the lanes beside it
        f'<path d="M{_middle(index)} {y - 13} v{_ROW}" stroke="{role_of(name).colour}" stroke-width="1.5"'
        f'{_dashes(name, record.simulated)} opacity="0.6"/>'
        for index, name in enumerate(lanes)
        if name != record.device
    ]
    if starts:
        word = "backward" if record.backward else "forward"
        parts.append(f'<text x="4" y="{y + 4}" font-style="italic">{word}</text>')
    if record.origin is not None and record.origin != record.device:
        parts.append(_arrow(record, _middle(lanes.index(record.origin)), middle, y))
    half, role = _half(record), role_of(record.device)
    dashes = _dashes(record.device, record.simulated)
    outline = f'stroke="{role.colour}" stroke-width="{0.7 if record.view else 1.6}"{dashes}'
    fill = "none" if record.view else role.colour
    parts.append(
        f'<rect x="{middle - half}" y="{y - 10}" width="{2 * half}" height="20" rx="4" {outline} '
        f'fill="{fill}" fill-opacity="0.16"/>'
        f'<text x="{middle}" y="{y + 4}" text-anchor="middle">{escape(record.op)}</text>'
    )
    moved = f"→ {record.bytes_moved:,} bytes" if record.bytes_moved else ("a view" if record.view else "")
    side = ", ".join(filter(None, (moved, record.seconds_text)))
    if side:
        right = _GUTTER + _LANE * len(lanes) + 6
        parts.append(f'<text x="{right}" y="{y + 4}" opacity="{1 if record.bytes_moved else 0.7}">{side}</text>')
    return "".join(parts)


def _arrow(record, start, end, y):
    """Return the arrow of a move: from lane to lane, 1.5 pixels wide for a few bytes, 9 for a gigabyte."""
    colour = ROLES["bytes"].colour
    width = 1.5 + log2(1 + record.bytes_moved) / 4
    direction = 1 if end > start else -1
    tip = end - direction * (_LANE / 2 - 30)
    return (
        f'<circle cx="{start}" cy="{y}" r="4" fill="{colour}"/>'
        f'<line x1="{start}" y1="{y}" x2="{tip - direction * 8}" y2="{y}" '
        f'stroke="{colour}" stroke-width="{width:.1f}"/>'
        f'<path d="M{tip} {y} l{-direction * 10} -7 v14 z" fill="{colour}"/>'
    )


def _join(records, lanes, source, target):
    """Return the line from an op to one that reads what it made: straight to the next row, else in an arc on the left.

    A move between lanes has its arrow already; its line is left out.
    """
    maker, reader = records[source], records[target]
    if reader.origin == maker.device != reader.device:
        return ""
    (x1, y1), (x2, y2) = (
        (_middle(lanes.index(r.device)), _height(n + 1)) for r, n in ((maker, source), (reader, target))
    )
    if target == source + 1 or x1 != x2:
        path = f"M{x1} {y1 + 10} L{x2} {y2 - 10}"
    else:
        out = min(12 + 5 * (target - source), _LANE / 2 - 8 - min(_half(maker), _half(reader)) + 30)
        left1, left2 = x1 - _half(maker), x2 - _half(reader)
        path = f"M{left1} {y1} C{left1 - out} {y1} {left2 - out} {y2} {left2} {y2}"
    return f'<path class="edge" d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.55"/>'


def _height(row):
    return row * _ROW + 16


def _half(record):
    return min(_LANE - 16, 26 + 7.2 * len(record.op)) / 2


def _middle(index):
    return _GUTTER + _LANE * index + _LANE // 2


def _dashes(name, simulated):
    unreal = "/meta:" in name or (simulated and "/cpu:" not in name)
    return ' stroke-dasharray="4 3"' if unreal else ""


def _lane_order(name):
    return ("/cpu:" not in name, name)


def _in_words(records):
    devices = sorted({r.device for r in records}, key=_lane_order)
    counts = ", ".join(f"{sum(r.device == name for r in records)} on {name}" for name in devices)
    return f"{len(records)} ops: {counts or 'none'}; {sum(r.bytes_moved for r in records):,} bytes moved."
