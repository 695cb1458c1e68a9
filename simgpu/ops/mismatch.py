"""Tensors of one op on different devices: what CUDA allows, and what it says of the rest."""

import torch
from torch import Tensor
from torch._ops import OpOverload

from simgpu import messages
from simgpu.ops.backward_formulas import in_formula, made_by_formula, zero_tangent
from simgpu.ops.call import Call
from simgpu.state import opened

_CONVOLUTIONS = {"convolution", "_convolution", "convolution_overrideable"}


def check(call: Call, func: OpOverload, args: tuple, kwargs: dict) -> None:
    """Refuse the tensors of `call` that are elsewhere than its first simulated one, where CUDA refuses them."""
    plan = call.plan
    written = _written(func, args, kwargs)
    formula = None
    for other in call.others:
        simulated = type(other) is call.cls
        if simulated:
            opened(other.simulation)
        elif other.device.type == "cuda":
            raise RuntimeError(messages.real_beside_simulated(other.device))
        if plan.lengths and not simulated and other.dtype == torch.int64:
            continue
        number = not simulated and other.dim() == 0 and not any(other is target for target in written)
        if number and (plan.scalars or plan.indices):
            gradient_comes_home(other)
            continue  # CUDA's kernels take such a number along
        if not simulated:
            formula = in_formula() if formula is None else formula
            if made_by_formula(other, formula) or zero_tangent(other):
                continue
        if plan.indices and not any(other is value for value in (args[0], *args[2:3])):
            if not simulated and args[0].device.type == "cuda":
                continue
            raise _refusal(messages.other_index(args[0].device))
        raise _refusal(_words(call, func, args, kwargs, other))


def gradient_comes_home(tensor: Tensor) -> None:
    """Have the gradient of a tensor that an op on another device reads brought to where the tensor lies.

    C++ would do it by itself between devices that it knows.
    """
    if tensor.requires_grad and torch.is_grad_enabled() and not hasattr(tensor, "gradient_comes_home"):
        place = tensor.device
        tensor.register_hook(lambda gradient: gradient.to(place))
        tensor.gradient_comes_home = True


def refused(error: RuntimeError) -> bool:
    """Return whether `error` is a refusal of this file, and not another RuntimeError."""
    return hasattr(error, "devices_differ")


def _refusal(text):
    error = RuntimeError(text)  # of CUDA's own type, and marked for `refused`
    error.devices_differ = True
    return error


def _written(func, args, kwargs):
    """Return the tensors that the op writes to."""
    found = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            found += [value] if isinstance(value, Tensor) else list(value or ())
    return found


def _words(call, func, args, kwargs, other):
    plan = call.plan
    if plan.indices and args[0].device.type == "cpu":
        return messages.other_index(args[0].device)
    if plan.name in _CONVOLUTIONS and args[0].device.type != args[1].device.type:
        return messages.other_types(_type(args[0]), _type(args[1]))
    if plan.scalars:
        return messages.different_devices(call.where, other.device)
    named = list(_tensors_by_name(func, args, kwargs))
    common = named[0][1].device
    name, offender = next((name, tensor) for name, tensor in named if tensor.device != common)
    return messages.other_argument(name, offender.device, common, plan.name)


def _tensors_by_name(func, args, kwargs):
    names = [argument.name for argument in func._schema.arguments]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, Tensor):
                yield name, tensor


def _type(tensor):
    name = torch.empty(0, dtype=tensor.dtype).type()
    return name.replace("torch.", "torch.cuda.") if tensor.device.type == "cuda" else name
