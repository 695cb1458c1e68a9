"""Torch's factories on the dispatch key CUDA: `torch.zeros(2, device="cuda")` arrives here, in every thread.

A build of torch for the CPU has no kernels on that key. Those registered here are in the process's one table of
kernels: no mode is entered, so ops on the CPU cost no more than before, and threads started before see them.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from simgpu.calls.factories import made_on
from simgpu.messages import NOT_PINNED, below_dispatch
from simgpu.state import required

_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
_PYTHON = torch._C.DispatchKey.Python
#: Make what isn't a dense tensor of numbers: no simulated GPU has one.
_OTHER = ("sparse", "quantized", "cudnn", "from_file", "dep_token", "efficientzero")


@contextmanager
def kernels() -> Iterator[None]:
    """Within the `with`, factories with a device of type cuda make their tensors on the active simulated GPUs."""
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():  # a build with CUDA has kernels there, which come back afterwards
            warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
            for func in _factories():
                library.impl(func, partial(_make, func), "CUDA")
        yield
    finally:
        library._destroy()


@cache  # looking through torch's 3,000 ops takes 40 ms, four fifths of a start
def _factories():
    """Return torch's ops that take a `device` and no tensor, and are not made of others by torch's dispatcher."""
    ops = []
    for full_name in torch._C._dispatch_get_all_op_names():
        space, _, name = full_name.partition("::")
        if space != "aten" or any(word in name for word in _OTHER):
            continue
        packet, _, overload = name.partition(".")
        if torch._C._dispatch_has_kernel_for_dispatch_key(full_name, "CompositeImplicitAutograd"):
            continue
        arguments = torch._C._get_schema(f"aten::{packet}", overload).arguments
        if any(argument.name == "device" for argument in arguments) and not any(
            "Tensor" in str(argument.type) for argument in arguments
        ):
            ops.append(getattr(getattr(torch.ops.aten, packet), overload or "default"))
    return ops


def _make(func: OpOverload, *args: Any, **kwargs: Any) -> Tensor:
    simulation = required()
    if kwargs.get("pin_memory"):
        raise RuntimeError(NOT_PINNED)
    if _excluded(_PYTHON):  # C++ would go on with what we return as with plain memory, and crash
        raise RuntimeError(below_dispatch(func._schema.name))
    return made_on(func, args, kwargs, simulation.place(kwargs["device"]), simulation)
