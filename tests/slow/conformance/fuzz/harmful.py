"""Calls that harm the process without simulated GPUs, too, by torch's own fault: they are drawn and not made.

Each was tried on the CPU alone, with torch 2.13.0, and did the same there. CUDA's kernels don't look either.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def harm_of(name: str, args: tuple | list, kwargs: dict[str, Any]) -> str:
    """Return why the call of `name`, as "torch.add", would harm the process, "" if it would not."""
    known = _KNOWN.get(name.partition(".")[2])
    return known[0] if known is not None and known[1]([*args, *kwargs.values()]) else ""


def _other_pivots(values):
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) < 2 or tensors[0].dim() < 2:
        return False
    *batch, rows, columns = tensors[0].shape
    return tensors[1].shape != (*batch, min(rows, columns))


def _at_the_edge(values):
    return any(isinstance(value, (list, tuple)) and _at_the_edge(value) or _is_edge(value) for value in values)


def _is_edge(value):
    return isinstance(value, int) and abs(value) >= 2**31


_KNOWN: dict[str, tuple[str, Callable[[list], bool]]] = {
    "lu_unpack": ("pivots of another shape: it writes past the end of the permutation", _other_pivots),
    "matrix_power": ("n=-2**63: it has no end", _at_the_edge),
    "fractional_max_pool2d": ("sizes at the edge of int64: it has no end", _at_the_edge),
    "fractional_max_pool2d_with_indices": ("sizes at the edge of int64: it has no end", _at_the_edge),
}
