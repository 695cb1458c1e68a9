"""Casting arguments of an op as autocast does: of simulated tensors alone, and a weight once in a region."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from simgpu.ops.device_tensor import DeviceTensor

_to_copy = torch.ops.aten._to_copy.default
_functorch = torch._C._functorch
#: id of a weight -> (it, its copy in the lower precision), until the outermost region of autocast ends.
_CASTS: dict[int, tuple[Tensor, Tensor]] = {}


def is_castable(value: Any) -> bool:
    """Return whether autocast may cast `value`: a simulated tensor of floats below float64, wrapped for `torch.func`
    or not."""
    if not isinstance(value, DeviceTensor):
        if not isinstance(value, Tensor) or not _functorch.is_functorch_wrapped_tensor(value):
            return False
        if not any(isinstance(inner, DeviceTensor) for inner in _inside(value)):
            return False
    return value.is_floating_point() and value.dtype is not torch.float64


def _inside(value: Tensor) -> Iterator[Tensor]:
    while _functorch.is_functorch_wrapped_tensor(value):
        value = _functorch.get_unwrapped(value)
        yield value


def cast(value: Any, dtype: torch.dtype) -> Any:
    """Return `value`, an argument or a tuple, a list or a dict of them, with what is castable in `dtype`."""
    if isinstance(value, Tensor):
        return _cast(value, dtype) if value.dtype is not dtype and is_castable(value) else value
    if isinstance(value, (tuple, list)):
        return type(value)(cast(item, dtype) for item in value)
    if isinstance(value, dict):
        return {name: cast(item, dtype) for name, item in value.items()}
    return value


def _cast(tensor, dtype):
    if not _is_weight(tensor) or dtype is not torch.get_autocast_dtype("cuda"):
        return _to_copy(tensor, dtype=dtype)
    entry = _CASTS.get(id(tensor))
    if entry is None:
        entry = _CASTS[id(tensor)] = tensor, _to_copy(tensor, dtype=dtype)
    return entry[1]


def _is_weight(tensor):
    """Return whether torch keeps the cast of `tensor` for later ops: it is a float32 leaf that gradients go to."""
    return (
        tensor.dtype is torch.float32
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and torch.is_grad_enabled()
        and torch.is_autocast_cache_enabled()
    )


def forget_casts() -> None:
    """Drop the copies of weights."""
    _CASTS.clear()


def widest(values: Any, dtype: torch.dtype) -> torch.dtype:
    """Return the widest of `dtype` and the dtypes of what is castable among the arguments `values`.

    Raises CUDA's RuntimeError for a float type that is neither float32 nor the lower precision.
    """
    for value in values:
        if isinstance(value, (tuple, list)):
            dtype = widest(value, dtype)
        elif is_castable(value):
            if torch.float32 in (dtype, value.dtype):
                dtype = torch.float32
            elif value.dtype is not dtype:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return dtype
