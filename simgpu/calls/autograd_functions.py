"""A program's own `torch.autograd.Function`: its `backward` is given gradients where its results lie.

Torch's C++ makes some gradients by itself, on the C++ device: undefined ones, and those of some of its formulas.
"""

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from simgpu.calls.moves import placed
from simgpu.messages import invalid_gradient
from simgpu.ops.device_tensor import DeviceTensor


def own_functions() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for what is replaced of `torch.autograd.Function`."""
    yield torch.autograd.Function, "apply", classmethod(_noting(torch.autograd.Function.__dict__["apply"]))
    yield BackwardCFunction, "apply", _placing(BackwardCFunction.apply)


def _noting(original):
    def apply(cls, *args, **kwargs):
        made = original.__get__(None, cls)(*args, **kwargs)  # a class method, of Python or, in torch 2.15, of C++
        results = made if type(made) is tuple else (made,)
        if any(isinstance(one, DeviceTensor) for one in (*args, *results)):
            node = next((one.grad_fn for one in results if isinstance(one, Tensor) and one.grad_fn is not None), None)
            if isinstance(node, BackwardCFunction):
                node.places = _places(args), _places(results)
        return made

    return apply


def _places(values):
    return [value.device if isinstance(value, Tensor) else None for value in values]


def _placing(original):
    @functools.wraps(original)
    def apply(node, *gradients):
        places = getattr(node, "places", None)
        if places is None:
            return original(node, *gradients)
        given, made = places
        gradients = tuple(
            placed(one, place) if isinstance(one, Tensor) and place is not None and one.device != place else one
            for one, place in zip(gradients, made, strict=True)
        )
        found = original(node, *gradients)
        for index, (one, place) in enumerate(zip(found if type(found) is tuple else (found,), given, strict=False)):
            if isinstance(one, Tensor) and place is not None and one.device != place and one.dim():
                raise RuntimeError(invalid_gradient(one.device, place, node.name(), index))
        return found

    return apply
