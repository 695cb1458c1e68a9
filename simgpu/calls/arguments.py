"""The tensors among a function's arguments, however they are nested."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from simgpu.ops.device_tensor import DeviceTensor

_of_functorch = torch._C._functorch.is_functorch_wrapped_tensor
_SEVERAL = {tuple, list}
_PLAIN = {int, float, bool, str, complex, type(None), torch.dtype, torch.device, torch.layout, torch.Size}


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and dicts."""
    for value in values.values() if isinstance(values, dict) else values:
        if type(value) in _PLAIN:
            continue
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            yield from tensors_in(value)


def common_device(args: tuple, kwargs: dict) -> torch.device | None:
    """Return the simulated device of all tensors of a call, or None; indices and lengths may be on the CPU."""
    tensors = [*tensors_in(args), *tensors_in(kwargs)]
    places = {tensor.device for tensor in tensors if tensor.dtype != torch.int64 or tensor.is_cuda}
    where = places.pop() if len(places) == 1 else None
    return where if where is not None and where.type == "cuda" else None


def any_simulated(args: tuple, kwargs: dict) -> bool:
    """Return whether a tensor among the arguments is simulated."""
    return any(isinstance(value, DeviceTensor) for value in (*tensors_in(args), *tensors_in(kwargs)))


def makes_plain(result: Any, args: tuple, kwargs: dict) -> bool:
    """Return whether a function's `result` has a plain tensor in it that is none of the arguments."""
    if type(result) is not Tensor and type(result) not in _SEVERAL:
        return False
    plain = [tensor for tensor in tensors_in((result,)) if type(tensor) is Tensor and not _wraps(tensor)]
    return any(all(tensor is not argument for argument in (*tensors_in(args), *tensors_in(kwargs))) for tensor in plain)


def _wraps(tensor):
    """Return whether C++ has wrapped a tensor (`torch.func`, `is_grads_batched`): the inner one may be simulated."""
    return _of_functorch(tensor) or "Batched" in str(torch._C._dispatch_keys(tensor))  # the key has no name in Python
