"""Limits of every value that was read, whatever its kind: no more than a judge can look at.

A kind bounds the bytes that are read. A few bytes can still mean much work: three million empty rows are no bytes and
as many lists, and no float holds a number of 1,030 bits. This file checks that for all kinds, before a judge sees the
value.
"""

import math
from typing import Any

import numpy as np

from grader.marking.result_types import Malformed

#: Of all lists, dictionaries and empty arrays together; an empty array counts as if its axes of length 0 had length 1.
ITEMS = 100_000
AXES = 16
DEPTH = 50  # lists in lists
BITS = 127  # of a whole number, without its sign: as in `result_types.Integer`


class OutOfBounds(Malformed):
    """A value that was read whole, and is more than a judge should look at: it names what is too much."""


def bounded(value: Any) -> Any:
    """Return `value` as it is, plain data or arrays. Raises OutOfBounds for more axes, items, depth or bits."""
    items, level = 0, [value]
    for _ in range(DEPTH + 1):
        items += sum(map(_items, level))
        if items > ITEMS:
            raise OutOfBounds(f"{_shapes(level)}more than {ITEMS:,} items in all")
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return value
    raise OutOfBounds(f"lists in lists, more than {DEPTH} deep")


def _items(item):
    """Return how many items `item` has itself, after a look at its size."""
    if isinstance(item, np.ndarray):
        if item.ndim > AXES:
            raise OutOfBounds(f"an array of {item.ndim} axes; {AXES} are the most")
        return 0 if item.size else math.prod(max(1, length) for length in item.shape)
    if isinstance(item, int) and not -(1 << BITS) <= item < 1 << BITS:
        raise OutOfBounds(f"a whole number of {item.bit_length()} bits; {BITS} are the most")
    return len(item) if isinstance(item, (list, tuple, dict)) else 0


def _inside(item):
    if isinstance(item, dict):
        return item.values()  # its keys are strings
    return item if isinstance(item, (list, tuple)) else ()


def _shapes(level):
    empty = [item.shape for item in level if isinstance(item, np.ndarray) and not item.size]
    return f"an array of shape {empty[0]}, " if empty else ""
