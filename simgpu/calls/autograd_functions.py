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
        output = original.__get__(None, cls)(*args, **kwargs)  # a class method, of Python or, in torch 2.15, of C++
        results = output if type(output) is tuple else (output,)
        if any(isinstance(value, DeviceTensor) for value in (*args, *results)):
            node = next(
                (value.grad_fn for value in results if isinstance(value, Tensor) and value.grad_fn is not None), None
            )
            if isinstance(node, BackwardCFunction):
                node.places = _places(args), _places(results)
        return output

    return apply


def _places(values):
    return [value.device if isinstance(value, Tensor) else None for value in values]


def _placing(original):
    @functools.wraps(original)
    def apply(node, *gradients):
        places = getattr(node, "places", None)
        if places is None:
            return original(node, *gradients)
        input_places, output_places = places
        gradients = tuple(
            placed(gradient, place)
            if isinstance(gradient, Tensor) and place is not None and gradient.device != place
            else gradient
            for gradient, place in zip(gradients, output_places, strict=True)
        )
        returned = original(node, *gradients)
        for index, (gradient, place) in enumerate(
            zip(returned if type(returned) is tuple else (returned,), input_places, strict=False)
        ):
            if isinstance(gradient, Tensor) and place is not None and gradient.device != place and gradient.dim():
                raise RuntimeError(invalid_gradient(gradient.device, place, node.name(), index))
        return returned

    return apply
