"""Shapes, dtypes and layouts, numbered: a number is a quicker key than the three that it stands for."""

from itertools import count

from torch import Tensor

_KINDS: dict[tuple, int] = {}  # (shape, dtype, layout) -> its number
_MOST = 2**16  # kinds; then the numbers begin anew, further on: one that a tensor carries never means another kind
_begun = 0
_symbolic = count(-1, -1)  # numbers of shapes that are symbols: each is its own kind


def kind_of(numbers: Tensor) -> int:
    """Return the number that stands for a plain tensor's shape, dtype and layout."""
    global _begun
    key = numbers.shape, numbers.dtype, numbers.layout
    try:
        kind = _KINDS.get(key)
    except TypeError:  # sizes that torch's tracing doesn't know yet can't be compared
        return next(_symbolic)
    if kind is None:
        if len(_KINDS) >= _MOST:  # a program whose shapes never repeat must not fill the memory
            _begun += len(_KINDS)
            _KINDS.clear()
        kind = _KINDS.setdefault(key, _begun + len(_KINDS))
    return kind
