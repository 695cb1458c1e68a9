"""Whether two values are equal, as a reader would say, and a short text for a value."""

import math
import numbers
import re
import sys
from collections.abc import Mapping
from typing import Any

_FUNCTION = re.compile(r"<function (?:[\w.<>]*\.)?(\w+|<lambda>) at 0x[0-9a-f]+>")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def same(got: Any, wanted: Any, relative: float = 1e-6) -> bool:
    """Whether two answers are equal: arrays by shape and value, ints exactly, floats to `relative`.

    >>> same([1, 2.0], (1, 2.0000000001)), same(True, 1), same(None, 0)
    (True, False, False)
    """
    if _is_array(got) or _is_array(wanted):
        return _same_arrays(got, wanted, relative)
    if isinstance(wanted, bool) or isinstance(got, bool):
        return got is wanted
    if isinstance(wanted, numbers.Integral) and isinstance(got, numbers.Integral):
        return bool(got == wanted)
    if isinstance(wanted, numbers.Real) and isinstance(got, numbers.Real):
        return _near(got, wanted, relative)
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return got.keys() == wanted.keys() and all(same(got[k], wanted[k], relative) for k in wanted)
    if isinstance(wanted, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(got) == len(wanted) and all(same(g, w, relative) for g, w in zip(got, wanted, strict=True))
    return type(got) is type(wanted) and bool(got == wanted)


def _near(got, wanted, relative):
    try:
        return math.isclose(got, wanted, rel_tol=relative, abs_tol=1e-12) or (math.isnan(got) and math.isnan(wanted))
    except OverflowError:  # a whole number that no float holds is near to none
        return False


def equal(got: Any, wanted: Any, relative: float = 1e-6) -> bool:
    """As `same`, but numpy arrays are compared whole, whatever their dtypes: a board of bool equals one of uint8."""
    numpy = sys.modules.get("numpy")  # who has an array has loaded it
    if numpy is None or not isinstance(got, numpy.ndarray) or not hasattr(wanted, "shape"):
        return same(got, wanted.item() if numpy and isinstance(wanted, numpy.generic) else wanted, relative)
    wanted = numpy.asarray(wanted)
    if got.shape != wanted.shape or got.dtype.kind not in "biufc":
        return False
    if got.dtype.kind in "fc" or wanted.dtype.kind in "fc":
        return bool(numpy.allclose(got, wanted, rtol=relative, atol=1e-12, equal_nan=True))
    return bool(numpy.array_equal(got, wanted))


def show(value: Any, limit: int = 300) -> str:
    """Return a short text for `value`: tensors and arrays as nested lists, anything long cut at `limit` characters.

    It is the same in every run: a function is shown by its name, and no object's address is. It raises nothing, and
    takes no longer for more elements than it shows.
    """
    try:
        text = str(_first(value, limit).tolist()) if _is_array(value) else repr(value)
    except Exception as failure:  # of long ints, deep lists, a reader's own __repr__
        text = f"{type(value).__name__} that can't be shown ({type(failure).__name__}: {failure})"
    text = _ADDRESS.sub("", _FUNCTION.sub(r"\1", text))
    return text if len(text) <= limit else text[:limit] + " …"


def _first(array, count):
    """Return a corner of `array` with the same first `count` characters of text: each element takes at least one."""
    corner: list[slice] = []
    for length in reversed(array.shape):
        corner.insert(0, slice(count))
        count = math.ceil(count / max(1, min(length, count)))
    return array[tuple(corner)]


def _is_array(value):
    return hasattr(value, "tolist") and hasattr(value, "shape")


def _same_arrays(got, wanted, relative):
    if not _is_array(got) or not _is_array(wanted):
        scalar = got if _is_array(got) else wanted
        if tuple(scalar.shape) != ():
            return False
    elif tuple(got.shape) != tuple(wanted.shape):
        return False
    as_list = [v.tolist() if _is_array(v) else v for v in (got, wanted)]
    return same(*as_list, relative)
