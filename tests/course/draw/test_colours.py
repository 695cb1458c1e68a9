"""The look: each colour is legible in both themes by WCAG's measure, and the style sheet repeats colours.py."""

import re
from pathlib import Path

import pytest

from course import draw
from course.draw import ROLES, css, worker_colour
from course.draw.colours import METHODS
from course.draw.training import Seen
from tests.helpers.drawn import figures

SHADES = 6
COLOURS = {name: role.colour for name, role in ROLES.items()} | {f"worker {k}": worker_colour(k) for k in range(SHADES)}
COLOURS |= {f"method {place}": method[0] for place, method in enumerate(METHODS) if method[0]}


def luminance(colour):
    """WCAG's relative luminance of `#RRGGBB`: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_knows_black_on_white():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("page", ["#FFFFFF", "#111111"])
@pytest.mark.parametrize("name", COLOURS)
def test_a_colour_stands_out_by_three_to_one(name, page):
    assert contrast(COLOURS[name], page) >= 3


def test_the_style_sheet_has_the_same_colours():
    tokens = dict(re.findall(r"--([\w-]+):\s*(#[0-9A-Fa-f]{6})", css()))
    assert {name: tokens.get(name, "").upper() for name in ROLES} == {n: r.colour.upper() for n, r in ROLES.items()}


def test_nothing_is_told_by_colour_alone():
    assert len({role.sign for role in ROLES.values()}) == len({role.marker for role in ROLES.values()}) == len(ROLES)
    assert len({worker_colour(k) for k in range(SHADES)}) == SHADES and worker_colour(SHADES) == worker_colour(0)


ROOT = Path(__file__).resolve().parents[3] / "course"
STYLES = [
    path for room in ("draw", "widgets") for kind in ("css", "js") for path in sorted((ROOT / room).rglob(f"*.{kind}"))
]
PAPER = {"#FFF", "#FFFFFF", "#000", "#EEE", "#111"}


def others(text):
    """Return the colours in a style sheet or a script that are of no role, no worker and no method."""
    colours = {colour.upper() for colour in re.findall(r"#(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})\b", text)}
    return colours - {colour.upper() for colour in COLOURS.values()} - PAPER


def test_every_colour_of_an_exhibit_is_a_roles_a_workers_or_a_methods():
    assert len(STYLES) > 30
    assert {path.name: others(path.read_text(encoding="utf-8")) for path in STYLES} == {
        path.name: set() for path in STYLES
    }
    assert others(".line { stroke: #ff00ee; fill: #0072b2 }") == {"#FF00EE"}


CURVES = dict.fromkeys(("one", "two", "three", "four"), {1: 1.0, 10: 5.0})
COMPARED = {
    "error_law": lambda curves: draw.error_law([1, 10], dict.fromkeys(curves, [1.0, 0.1]), "It falls"),
    "scale": lambda curves: draw.scale(curves, "It grows", "simulated"),
    "latency": lambda curves: draw.latency(curves, "It waits", alone=1.0),
    "learning": lambda curves: draw.learning(dict.fromkeys(curves, [Seen(1, 1.0, 0.5), Seen(2, 2.0, 0.7)]), "Up"),
    "distance": lambda curves: draw.distance(curves, "It is far", alone=1.0),
}


@pytest.mark.parametrize("compared", COMPARED)
def test_methods_that_are_compared_have_no_roles_colours_and_differ_in_a_second_sign(compared):
    with figures() as seen:
        COMPARED[compared](CURVES)
    drawn = [line for axes in seen[0].axes[:1] for line in axes.lines if line.get_marker() not in ("None", None, "")]
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in drawn if line.get_markersize() < 9}
    roles = {role.colour for role in ROLES.values()} | {worker_colour(index) for index in range(SHADES)}
    assert len(looks) == 4 and not {colour for colour, *_ in looks} & roles
    assert [len(set(signs)) for signs in zip(*looks, strict=True)] == [4, 4, 4]


@pytest.mark.parametrize("compared", COMPARED)
@pytest.mark.parametrize("count", [0, 5])
def test_curves_that_can_not_be_told_apart_are_refused(compared, count):
    with pytest.raises(ValueError, match=f"{count} curves; 1 to 4 can be told apart"):
        COMPARED[compared](dict.fromkeys("abcde"[:count], {1: 1.0, 10: 5.0}))
