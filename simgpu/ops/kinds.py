"""Shapes, dtypes and layouts, numbered: a number is a quicker key than the three that it stands for."""

from torch import Tensor

_KINDS: dict[tuple, int] = {}  # (shape, dtype, layout) -> its number
_MOST = 2**16  # kinds; then the numbers begin anew, further on: one that a tensor carries never means another kind
_begun = 0


def kind_of(numbers: Tensor) -> int:
    """Return the number that stands for a plain tensor's shape, dtype and layout."""
    global _begun
    key = numbers.shape, numbers.dtype, numbers.layout
    kind = _KINDS.get(key)
    if kind is None:
        if len(_KINDS) >= _MOST:  # a program whose shapes never repeat must not fill the memory
            _begun += len(_KINDS)
            _KINDS.clear()
        kind = _KINDS.setdefault(key, _begun + len(_KINDS))
    return kind
