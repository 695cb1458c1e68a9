"""`out=` of functions that torch's C++ composes of others: for a subclass of Tensor some of them don't write to it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.utils._pytree import tree_map

from simgpu.ops.device_tensor import DeviceTensor, read


@cache
def is_composed(func: Callable) -> bool:
    """Return whether `func` with `out=` is one that C++ composes of others, and no op of its own."""
    packet = getattr(torch.ops.aten, getattr(func, "__name__", ""), None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return False
    writing = [name for name in packet.overloads() if "out" in name]
    return bool(writing) and all(
        torch._C._dispatch_has_kernel_for_dispatch_key(getattr(packet, name).name(), "CompositeImplicitAutograd")
        for name in writing
    )


def copied_out(func: Callable, args: tuple, kwargs: dict, result: Any) -> Any:
    """Return the `out` of `kwargs`, a tensor or several, with numbers and shape of `result`, which `func` gave.

    One of another size takes the order in memory that torch's own would: that of a run on the plain numbers.
    """
    out = kwargs["out"]
    several, results = ((out,), (result,)) if isinstance(out, torch.Tensor) else (tuple(out), tuple(result))
    for target, numbers in zip(several, results, strict=True):
        if not torch.can_cast(numbers.dtype, target.dtype):
            raise RuntimeError(f"Expected out tensor to have dtype {numbers.dtype}, but got {target.dtype} instead")
    if any(target.shape != numbers.shape for target, numbers in zip(several, results, strict=True)):
        for target, numbers, plain in zip(several, results, _plainly(func, args, kwargs), strict=True):
            if target.shape != numbers.shape:
                target.resize_(numbers.shape)
                if plain.shape == numbers.shape:  # torch's ihfftn may forget its `out`
                    target.as_strided_(plain.shape, plain.stride())
    for target, numbers in zip(several, results, strict=True):
        target.copy_(numbers)
    return out if isinstance(out, torch.Tensor) or type(result) is type(out) else type(result)(out)


def _plainly(func, args, kwargs):
    """Return the results of `func` written into plain tensors of no size."""

    def plain(value):
        return read(value) if isinstance(value, DeviceTensor) else value

    def unsized(value):
        return torch.empty(0, dtype=value.dtype, device="cpu")

    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), torch.no_grad():
        options = {name: value for name, value in kwargs.items() if name != "out"}
        args, options = tree_map(plain, (args, options))
        result = func(*args, **options, out=tree_map(unsized, kwargs["out"]))
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)
