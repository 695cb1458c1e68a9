"""The look: each colour is legible in both themes by WCAG's measure, and the style sheet repeats colours.py."""

import re

import pytest

from course.draw import ROLES, css, worker_colour
from course.draw.colours import METHODS

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
