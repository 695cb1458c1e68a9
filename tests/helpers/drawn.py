"""The figures behind pictures, and the shapes in hand-written SVG: what tests of geometry look at."""

import re
from contextlib import contextmanager
from unittest import mock
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation


@contextmanager
def figures():
    """Within the `with`, each figure that matplotlib writes, as ever, is also put in the list that this gives."""
    seen, write = [], Figure.savefig

    def kept(figure, *args, **settings):
        seen.append(figure)
        return write(figure, *args, **settings)

    with mock.patch.object(Figure, "savefig", kept):
        yield seen


def axes_of(draw, *args, **settings):
    """Return the axes of the one figure that `draw(*args, **settings)` shows: a list, or the one that there is."""
    with figures() as seen:
        draw(*args, **settings)
    (figure,) = seen
    return figure.axes if len(figure.axes) > 1 else figure.axes[0]


def bars(axes):
    """Return (left, bottom, width, height) of every bar, in the axes' own numbers, in the order of drawing."""
    return [(bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()) for bar in axes.patches]


def flat_bars(axes):
    """Return (row, left, width) of every horizontal bar: the row is its middle."""
    return [(bottom + height / 2, left, width) for left, bottom, width, height in bars(axes)]


def lines(axes):
    """Return the points of every line, as a list of (x, y), in the order of drawing."""
    return [list(map(tuple, line.get_xydata().tolist())) for line in axes.lines if isinstance(line, Line2D)]


def uprights(axes):
    """Return x of every line that `axvline` drew: from the bottom of the axes up, in parts of them."""
    upright = [line for line in axes.lines if line.get_transform() == axes.get_xaxis_transform(which="grid")]
    return [line.get_xdata()[0] for line in upright]


def levels(axes):
    """Return y of every line that `axhline` drew."""
    return [
        line.get_ydata()[0] for line in axes.lines if line.get_transform() == axes.get_yaxis_transform(which="grid")
    ]


def words(axes):
    """Return text -> the point that it is written at, for every annotation; texts without the spaces around them."""
    return {text.get_text().strip(): text.xy for text in axes.texts if isinstance(text, Annotation)}


def ticks(axis):
    """Return label -> place of the ticks of an axis that were set by hand."""
    labels = [label.get_text() for label in axis.get_ticklabels()]
    return dict(zip(labels, axis.get_ticklocs().tolist(), strict=True))


def near(value):
    """Return what equals `value`, nested lists and tuples of numbers, but for rounding."""
    if isinstance(value, (list, tuple)):
        return [near(one) for one in value] if isinstance(value, list) else tuple(near(one) for one in value)
    return pytest.approx(value, rel=1e-6, abs=1e-12) if isinstance(value, (int, float)) else value


def svgs(picture):
    """Yield every image of a picture, as the tree of its elements, in order; those of matplotlib can't be read so."""
    for text in re.findall(r"<svg.*?</svg>", picture.html, re.DOTALL):
        yield ElementTree.fromstring(text)


def number(element, *names):
    """Return these attributes of an element as floats, one alone or several as a tuple."""
    values = tuple(float(element.get(name)) for name in names)
    return values[0] if len(values) == 1 else values


def texts(image):
    """Return a list of (text, x, y) of every text in an image."""
    return [("".join(text.itertext()).strip(), *number(text, "x", "y")) for text in image.iter("text")]
