"""What a page has painted, as numbers: shapes of its SVG, words and where they stand, and the axes beside them."""

import math
import re

import pytest

_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ms": 1e-3, "µs": 1e-6}
BOX, DOT = "x y width height", "cx cy r"
_ATTRIBUTES = "(all, names) => all.map((one) => names.map((name) => one.getAttribute(name) ?? '').join(' '))"


def shapes(page, selector, names):
    """Return, for each node that fits `selector`, the numbers in the attributes `names`, as a list of floats."""
    texts = page.locator(selector).evaluate_all(_ATTRIBUTES, names.split())
    return [list(map(float, _NUMBER.findall(text))) for text in texts]


def drawn(page, selector, names, wanted, off=1e-6):
    """Assert that these shapes are there: `wanted` has the same numbers, in nested lists, but for `off` pixels."""
    same(shapes(page, selector, names), wanted, off)


def shares(page, selector, side="width"):
    """Return the per cent of HTML bars."""
    sides = page.locator(selector).evaluate_all("(all, side) => all.map((one) => one.style[side])", side)
    return [float(text.rstrip("%")) for text in sides]


def words(page, selector):
    """Return [text, x, y] of each text that fits `selector`."""
    told = "(all) => all.map((one) => [one.textContent, +one.getAttribute('x'), +one.getAttribute('y')])"
    return page.locator(selector).evaluate_all(told)


def width(page, image):
    """Return the width of an SVG: that of its place, in pixels of the page, and of its own unit."""
    sizes = "(one) => [+one.getAttribute('width'), one.viewBox.baseVal.width, one.parentNode.clientWidth]"
    wide, unit, place = page.locator(image).evaluate(sizes)
    assert wide == unit == place
    return wide


def same(painted, wanted, off=1e-6):
    """Assert that two nested lists have the same numbers, but for `off` pixels."""
    assert _flat(painted) == pytest.approx(_flat(wanted), abs=off)


def linear(begin, end, at, till):
    """Return the function from `begin` … `end` to the pixels `at` … `till`."""
    return lambda value: at + (value - begin) / (end - begin) * (till - at)


def logarithmic(begin, end, at, till):
    """Return the same by powers of ten."""
    powers = linear(math.log10(begin), math.log10(end), at, till)
    return lambda value: powers(math.log10(value))


def axis_below(page, image, scale, y, left, right):
    """Assert that the axis at height `y` has a rule, and labels below their marks, each where its number lies."""
    labels = [(text, x) for text, x, at in words(page, f"{image} text.tick") if at == pytest.approx(y + 17)]
    rules = shapes(page, f"{image} path.rule", "d")
    assert len(labels) > 1 and pytest.approx([left, y, right]) in rules
    for text, x in labels:
        assert (text, x) == (text, pytest.approx(scale(_value(text)), abs=1e-3))
        assert pytest.approx([x, y, 4]) in rules


def axis_left(page, image, scale, x, top, bottom, right=None):
    """Assert the same of the axis at the left, whose lines go on to `right`."""
    labels = [(text, y) for text, at, y in words(page, f"{image} text.tick") if at == pytest.approx(x - 6)]
    lines = shapes(page, f"{image} path.grid", "d")
    assert len(labels) > 1 and pytest.approx([x, top, bottom]) in shapes(page, f"{image} path.rule", "d")
    for text, y in labels:
        assert (text, y) == (text, pytest.approx(scale(_value(text)) + 4, abs=1e-3))
        assert pytest.approx([x, y - 4, x if right is None else right]) in lines


def centre(page, image, x, part=0.5):
    """Return the place of the page at `x` of an image, and at a part of its height, in pixels."""
    place = page.locator(image).bounding_box()
    return place["x"] + x, place["y"] + part * place["height"]


def to_moment(page, moment):
    """Move the scrubber to a moment."""
    page.locator(".moment[type=range]").evaluate(
        "(one, to) => { one.value = to; one.dispatchEvent(new Event('input')); }", moment
    )


def _value(text):
    number, *unit = text.split(" ")
    return float(number) * _UNITS.get(unit[0] if unit else "", 1)


def _flat(rows):
    return [number for row in rows for number in _flat(row)] if isinstance(rows, (list, tuple)) else [rows]
