"""`out=` of functions that torch's C++ composes of others: for a subclass of Tensor some of them don't write to it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

#: Beside the functions of linear algebra: give an `out` of another size the order in memory of what they made.
_ORDERED = {"lu_solve", "fft_ifft", "fft_ihfft"}


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


def copied_out(func: Callable, out: Any, made: Any) -> Any:
    """Return `out`, a tensor or several, with the numbers of `made`, which `func` gave, and their shape."""
    if not isinstance(out, torch.Tensor):
        for one, numbers in zip(out, made, strict=True):
            copied_out(func, one, numbers)
        return type(made)(out) if type(made) in (tuple, list) else made.__class__(out)
    if not torch.can_cast(made.dtype, out.dtype):
        raise RuntimeError(f"Expected out tensor to have dtype {made.dtype}, but got {out.dtype} instead")
    if out.shape != made.shape:
        out.resize_(made.shape)
        if func.__name__ in _ORDERED or func.__name__.startswith("linalg_") and func.__name__ != "linalg_tensorinv":
            out.as_strided_(made.shape, made.stride())
    return out.copy_(made)
