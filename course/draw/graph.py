"""A program as a graph: a lane a device, a column an op, an arrow as wide as its bytes where a value changes lanes."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log2

from course.draw.colours import ROLES, role_of
from course.draw.picture import Picture, html, svg
from course.units import short_bytes

GUTTER = 74  # pixels left of the lanes, for their names
_WIDE = 706  # pixels shared by the columns
_LANE = 76
_TALL = 26  # an op's box
_INPUT = 11  # radius of an input's circle


@dataclass(frozen=True)
class Node:
    """What the program reads or makes: `name`, the `text` in its box, its `device`, the `column` of its op.

    A node that `is_input` stands before the column of the op that reads it first.
    """

    name: str
    text: str
    device: str
    column: int
    is_input: bool = False


@dataclass(frozen=True)
class Edge:
    """The value `source` is read by the op that makes `target`; `nbytes` is 0 when both are on one device."""

    source: str
    target: str
    nbytes: int = 0


def graph(nodes: Sequence[Node], edges: Sequence[Edge], devices: Sequence[str], alt: str) -> Picture:
    """Return a `Picture` of `nodes` and `edges`, one lane for each name in `devices`; `alt` says it in words.

    Below the lanes stand the bytes that moved for each op.
    """
    width = _WIDE / (max(node.column for node in nodes) + 1)
    places = _places(nodes, devices, width)
    height = _LANE * len(devices) + 32
    moved = [edge for edge in edges if edge.nbytes]
    parts = [_lane(name, index) for index, name in enumerate(devices)]
    parts += [_line(places[edge.source], places[edge.target]) for edge in edges if not edge.nbytes]
    for edge in moved:
        together = [other for other in moved if other.target == edge.target]
        aside = 14 * (together.index(edge) - (len(together) - 1) / 2)
        parts.append(_arrow(edge.nbytes, places[edge.source], places[edge.target], aside))
    parts += [_box(node, *places[node.name]) for node in nodes]
    parts += _sums(nodes, moved, places, height - 10)
    return html(svg(GUTTER + _WIDE, height, parts, alt), alt)


def _places(nodes, devices, width):
    """Return name -> (x, y, half its width) for every node; inputs stand above and below the line of ops."""
    places, stacked = {}, {}
    for node in nodes:
        x = GUTTER + width * node.column
        y = _LANE * devices.index(node.device) + _LANE / 2 + 4
        if node.is_input:
            beside = stacked.setdefault((node.device, node.column), [])
            beside.append(node.name)
            places[node.name] = (x + 10, y + 21 * (-1) ** len(beside), _INPUT)
        else:
            places[node.name] = (x + width / 2 + 12, y, width / 2 - 18)
    return places


def _lane(name, index):
    role, top = role_of(name), _LANE * index + 4
    dashed = "" if "cpu" in name else ' stroke-dasharray="4 3"'
    word = "" if "cpu" in name else f'<text x="4" y="{top + 56}" font-size="10.5" opacity="0.8">simulated</text>'
    return (
        f'<rect x="0.5" y="{top + 2}" width="{GUTTER + _WIDE - 1}" height="{_LANE - 4}" rx="6" fill="{role.colour}" '
        f'fill-opacity="0.07" stroke="{role.colour}" stroke-opacity="0.5"{dashed}/>'
        f'<text x="4" y="{top + 41}" font-weight="bold"><tspan fill="{role.colour}">{role.sign}</tspan> '
        f"{escape(name)}</text>{word}"
    )


def _box(node, x, y, half):
    role = role_of(node.device)
    if node.is_input:
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{half}" fill="none" stroke="{role.colour}" stroke-width="1"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-style="italic">{escape(node.text)}</text>'
        )
    dashed = "" if "cpu" in node.device else ' stroke-dasharray="4 3"'
    return (
        f'<rect x="{x - half:.1f}" y="{y - _TALL / 2:.1f}" width="{2 * half:.1f}" height="{_TALL}" rx="5" '
        f'fill="{role.colour}" fill-opacity="0.22" stroke="{role.colour}" stroke-width="1.6"{dashed}/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{escape(node.text)}</text>'
    )


def _line(source, target):
    """Return a thin line between two values on one device, in an arc over the boxes between them."""
    (x1, y1, half1), (x2, y2, half2) = source, target
    start, end = x1 + half1, x2 - half2
    lift = (16 if half1 == _INPUT else _LANE * 0.55) if end - start > 60 else 0  # inputs are near the top already
    return (
        f'<path d="M{start:.1f} {y1:.1f} C{start + lift / 2:.1f} {y1 - lift:.1f} {end - lift / 2:.1f} {y2 - lift:.1f} '
        f'{end:.1f} {y2:.1f}" fill="none" stroke="currentColor" stroke-opacity="0.55"/>'
    )


def _arrow(nbytes, source, target, aside):
    """Return the arrow of a move: 1.5 pixels wide for a few bytes, 9 for a gigabyte; `aside` keeps two apart."""
    (x1, y1, half), (x2, y2, _) = source, target
    colour, down = ROLES["bytes"].colour, 1 if y2 > y1 else -1
    start, x, tip = x1 + half, x2 + aside, y2 - down * (_TALL / 2 + 1)
    bend = y1 + down * _LANE / 2  # between the lanes
    return (
        f'<path d="M{start:.1f} {y1:.1f} C{start + 16:.1f} {bend:.1f} {x:.1f} {y1:.1f} {x:.1f} {tip - down * 9:.1f}" '
        f'fill="none" stroke="{colour}" stroke-width="{1.5 + log2(1 + nbytes) / 4:.1f}"/>'
        f'<path d="M{x:.1f} {tip:.1f} l-6.5 {-down * 10} h13 z" fill="{colour}"/>'
    )


def _sums(nodes, moved, places, y):
    parts = [f'<text x="4" y="{y}"><tspan fill="{ROLES["bytes"].colour}">→</tspan> moves</text>']
    for node in nodes:
        count = sum(edge.nbytes for edge in moved if edge.target == node.name)
        if count:
            text = short_bytes(count)
            parts.append(f'<text x="{places[node.name][0]:.1f}" y="{y}" text-anchor="middle">{text}</text>')
    return parts
