"""An array of JSON's numbers: a text, a null or a number out of range is refused, not converted."""

from itertools import chain
from typing import Any

import numpy

from modelserver.protocol.errors import Refused, wrong
from modelserver.versions.signature import TensorSpec

_TYPES: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}
_WORDS = {"b": "true or false", "i": "whole numbers", "u": "whole numbers", "f": "numbers"}


def array_of(data: Any, spec: TensorSpec, rows: int) -> numpy.ndarray:
    """Return the `data` of input `spec`, `(rows, *shape)`, in row-major order: flat, or nested as its shape is.

    Raises Refused.
    """
    shape = (rows, *spec.shape)
    flat = _flat(data, spec, shape)
    count = rows * spec.row_elements
    if len(flat) != count:
        raise wrong(f"input {spec.name}: data has {len(flat)} elements; shape {list(shape)} is {count}.")
    kind = spec.dtype.kind
    if not set(map(type, flat)) <= _TYPES[kind]:
        odd = next(value for value in flat if type(value) not in _TYPES[kind])
        raise wrong(f"input {spec.name}: data has {_shown(odd)}; {spec.datatype} takes {_WORDS[kind]}.")
    try:
        if kind == "f":
            return finite(_floats(flat, spec.dtype), spec)
        wide = numpy.array(flat, bool if kind == "b" else numpy.int64)
    except OverflowError:
        raise _out_of_range(spec) from None
    if kind in "iu":
        limits = numpy.iinfo(spec.dtype)
        if wide.size and not limits.min <= wide.min() <= wide.max() <= limits.max:
            raise _out_of_range(spec)
    return wide.astype(spec.dtype, copy=False)


def finite(array: numpy.ndarray, spec: TensorSpec) -> numpy.ndarray:
    """Return `array`, or raise Refused where input `spec` has NaN or infinity in it: such inputs have no answer."""
    if spec.dtype.kind == "f" and not numpy.isfinite(array).all():
        place = int(numpy.argmin(numpy.isfinite(array.reshape(-1))))
        raise wrong(
            f"input {spec.name}: element {place} (row-major) is {array.reshape(-1)[place]}; give finite numbers that "
            f"{spec.datatype} can hold, at most {float(numpy.finfo(spec.dtype).max):.4g}."
        )
    return array


def _floats(flat, dtype):
    with numpy.errstate(over="ignore"):  # what is too large is infinity then, which is refused
        return numpy.fromiter(flat, numpy.float64, len(flat)).astype(dtype)


def _out_of_range(spec: TensorSpec) -> Refused:
    limits = numpy.iinfo(spec.dtype) if spec.dtype.kind in "iu" else numpy.finfo(spec.dtype)
    return wrong(f"input {spec.name}: a number is out of range; {spec.datatype} is from {limits.min} to {limits.max}.")


def _flat(data, spec, shape):
    if type(data) is not list:
        raise wrong(f"input {spec.name}: data is {_shown(data)}; give a list, flat or nested as its shape is.")
    if not data or type(data[0]) is not list:
        return data
    level = [data]
    for length in shape:
        for part in level:
            if type(part) is not list or len(part) != length:
                raise wrong(
                    f"input {spec.name}: data is nested, and not as shape {list(shape)}: a list of {length} was "
                    f"expected, and there is {_shown(part)}."
                )
        level = list(chain.from_iterable(level))
    return level


def _shown(value):
    if type(value) is list:
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
