"""CUDA's autocast for simulated tensors: Python kernels on torch's own dispatch key for it.

The key comes before autograd's, so that what is cast is what a GPU would cast, inside composed functions too. Torch's
own kernels on it ask each tensor for its C++ device, which is the CPU for every simulated one: they would cast nothing.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch._ops import OpOverload

from simgpu.autocast import lists
from simgpu.autocast.casts import cast, forget_casts, is_castable, widest
from simgpu.messages import UNSAFE_TO_AUTOCAST
from simgpu.replaced import replaced

_KEY = torch._C.DispatchKey.AutocastCUDA
_without_key = partial(torch._C._ExcludeDispatchKeyGuard, torch._C.DispatchKeySet(_KEY))
_quiet = torch._C.DisableTorchFunctionSubclass
_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
_include = torch._C._dispatch_tls_set_dispatch_key_included
_enable, _clear = torch._C.set_autocast_enabled, torch._C.clear_autocast_cache  # torch's own


@contextmanager
def autocasting() -> Iterator[None]:
    """Within the `with`, `torch.autocast("cuda")` treats simulated tensors as a GPU's, in every thread."""
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
            for func, prepare in treated():
                library.impl(func, partial(_run, prepare, func), "AutocastCUDA")
        with replaced((owner, *change) for owner in (torch, torch._C) for change in _answers()):
            yield
    finally:
        library._destroy()
        forget_casts()


@cache
def treated() -> list[tuple[OpOverload, Callable]]:
    """Return (op, how its call is prepared) for every op that autocast treats, of those that this torch has."""
    of_torch = {*torch._C._dispatch_get_all_op_names()}
    return [
        (_op(name), prepare)
        for names, prepare in _LISTS
        for name in names
        if f"aten::{name}" in of_torch and (names is lists.RECURRENT or _has_kernel(f"aten::{name}", "AutocastCUDA"))
    ]


def _op(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _answers():
    """Yield (name, function) for what torch's own `autocast` calls when a region begins and ends."""

    def set_autocast_enabled(*args, **kwargs):
        _enable(*args, **kwargs)
        _include(_KEY, torch.is_autocast_enabled("cuda"))  # a thread's ops pass by the key, which no tensor has here

    def clear_autocast_cache():
        _clear()
        forget_casts()

    yield "set_autocast_enabled", set_autocast_enabled
    yield "clear_autocast_cache", clear_autocast_cache


def _run(prepare: Callable, func: OpOverload, *args: Any, **kwargs: Any) -> Any:
    with _without_key(), _quiet():
        func, args, kwargs = prepare(func, args, kwargs)
        return func(*args, **kwargs)


def _lower(func, args, kwargs):
    dtype = torch.get_autocast_dtype("cuda")
    return func, cast(args, dtype), cast(kwargs, dtype)


def _float32(func, args, kwargs):
    return func, cast(args, torch.float32), cast(kwargs, torch.float32)


def _float32_by_default(func, args, kwargs):
    place = _place_of_dtype(func)
    dtype = args[place] if len(args) > place else kwargs.get("dtype")
    if dtype is not None or not is_castable(args[0]):
        return func, args, kwargs
    return func, args[:place], {**kwargs, "dtype": torch.float32}


@cache
def _place_of_dtype(func):
    return [argument.name for argument in func._schema.arguments].index("dtype")


def _with_dtype(func, args, kwargs):
    if not is_castable(args[0]):
        return func, args, kwargs
    defaults = [argument.default_value for argument in func._schema.arguments[len(args) :]]
    other = _op(lists.GIVEN_FLOAT32[f"{func._opname}.{func._overloadname}"])
    return other, (*args, *defaults), {**kwargs, "dtype": torch.float32}


def _widest(func, args, kwargs):
    dtype = widest([*args, *kwargs.values()], torch.get_autocast_dtype("cuda"))
    return func, cast(args, dtype), cast(kwargs, dtype)


def _banned(func, args, kwargs):
    if any(map(is_castable, args)):
        raise RuntimeError(UNSAFE_TO_AUTOCAST)
    return func, args, kwargs


_LISTS = (
    (lists.LOWER, _lower),
    (lists.RECURRENT, _lower),
    (lists.FLOAT32, _float32),
    (lists.FLOAT32_BY_DEFAULT, _float32_by_default),
    (lists.GIVEN_FLOAT32, _with_dtype),
    (lists.WIDEST, _widest),
    (lists.BANNED, _banned),
)
