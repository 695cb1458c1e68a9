"""Calls that harm the process by torch's own fault: they are drawn and not made.

Each was made on the CPU alone, with torch 2.13.0, and there it harms the process alike.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def harm_of(name: str, args: tuple | list, kwargs: dict[str, Any]) -> str:
    """Return why the call of `name`, as "torch.add", would harm the process, "" if it would not."""
    harm = _KNOWN.get(name.partition(".")[2])
    return harm[0] if harm is not None and harm[1]([*args, *kwargs.values()]) else ""


def _other_pivots(values):
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) < 2 or tensors[0].dim() < 2:
        return False
    *batch, rows, columns = tensors[0].shape
    return tensors[1].shape != (*batch, min(rows, columns))


def _other_channels(values):
    of_input, *others = [value for value in values if isinstance(value, Tensor)] or [None]
    return any(of_input.dim() < 2 or other.shape != of_input.shape[1:2] for other in others)


def _far_below_zero(values):
    return any(number <= -(2**31) for number in _numbers(values))


def _many_turns(values):
    return isinstance(values[0], Tensor) and values[0].dim() == 0 or any(number >= 2**31 for number in _numbers(values))


def _numbers(values):
    """Return the whole numbers in `values` and in lists of it."""
    numbers: list[int] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            numbers += _numbers(value)
        elif isinstance(value, int):
            numbers.append(value)
    return numbers


_KNOWN: dict[str, tuple[str, Callable[[list], bool]]] = {
    "lu_unpack": ("no shapes are compared, for CUDA neither: it writes past the end of the permutation", _other_pivots),
    "native_batch_norm": ("no sizes are compared: it writes past the end of the running mean", _other_channels),
    "matrix_power": ("n=-2**63: it has no end", _far_below_zero),
    "fractional_max_pool2d": ("kernel_size=-2**31: it has no end", _far_below_zero),
    "fractional_max_pool2d_with_indices": ("kernel_size=-2**31: it has no end", _far_below_zero),
    "index": ("dims=2**63-1: functorch takes the number of dimensions away until it is negative", _many_turns),
}
