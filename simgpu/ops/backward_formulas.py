"""Torch's own formulas of a backward pass, as that of `prod`: they make tensors on the C++ device of their gradient.

That is the CPU for every simulated tensor. On a real GPU they would lie there too, so they are no mistake of a program.
"""

import sys
from collections.abc import Callable

import torch
from torch.autograd import forward_ad

_ENGINE = torch.autograd.graph._engine_run_backward.__code__
_OWN = torch.autograd.function.BackwardCFunction.apply.__code__  # calls the `backward` that a program wrote
# Ids of the code of functions through which a program's own calls come: a code's hash is slow.
_ENTRANCES: set[int] = set()


def entrance(function: Callable) -> Callable:
    """Note `function` as one through which a program's own calls come; a decorator that leaves it as it is."""
    _ENTRANCES.add(id(function.__code__))
    return function


def in_formula() -> bool:
    """Return whether the op that runs is one of torch's own formulas of a backward pass, not one that a program calls.

    It walks the stack of calls, so it is called only where devices differ.
    """
    if torch._C._current_graph_task_id() == -1:
        return False
    frame, called = sys._getframe(1), False
    while frame is not None and frame.f_code is not _ENGINE:
        if id(frame.f_code) in _ENTRANCES:
            called = True
        elif frame.f_code.co_name == "__torch_dispatch__":
            called = False  # a log that the program entered handed on what it saw
        elif frame.f_code is _OWN:
            return False
        frame = frame.f_back
    return not called


def made_by_formula(plain: torch.Tensor, formula: bool) -> bool:
    """Return whether a formula of a backward pass made `plain`, which then would be on the GPU, and note it: a
    program's own backward function may be given it as its gradient."""
    if plain.layout != torch.strided or hasattr(plain, "left_behind"):
        return False
    storage = plain.untyped_storage()
    if formula:
        storage.of_formula = True
    return hasattr(storage, "of_formula")


def zero_tangent(plain: torch.Tensor) -> bool:
    """Return whether `plain` is what a formula of forward mode makes of an input without a tangent: zeros."""
    return forward_ad._current_level >= 0 and not plain.requires_grad and not plain.any()
