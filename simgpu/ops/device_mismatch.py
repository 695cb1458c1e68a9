"""Tensors of one op on different devices: which mixtures CUDA allows, and its errors for the others."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch._ops import OpOverload

from simgpu import messages
from simgpu.kernels.names import INSTEAD, RECURRENT, method_of
from simgpu.ops.backward_formulas import in_formula, made_by_formula, zero_tangent
from simgpu.ops.call import Call
from simgpu.state import opened

_CONVOLUTIONS = {"convolution", "_convolution", "convolution_overrideable"}


def check(call: Call, func: OpOverload, args: tuple, kwargs: dict) -> None:
    """Refuse the tensors of `call` that are elsewhere than its first simulated one, where CUDA refuses them."""
    plan = call.plan
    written = written_to(func, args, kwargs)
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
            gradient_goes_back(other)
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


def gradient_goes_back(tensor: Tensor) -> None:
    """Let the gradient of `tensor`, which an op on another device reads, go back to the tensor's own device.

    C++ does so by itself between devices that it knows.
    """
    if tensor.requires_grad and torch.is_grad_enabled() and not hasattr(tensor, "gradient_goes_back"):
        place = tensor.device
        tensor.register_hook(lambda gradient: gradient.to(place))
        tensor.gradient_goes_back = True


def refused(error: RuntimeError) -> bool:
    """Return whether `error` is a refusal of this file, and not another RuntimeError."""
    return hasattr(error, "devices_differ")


def _refusal(text):
    error = RuntimeError(text)  # of CUDA's own type, and marked for `refused`
    error.devices_differ = True
    return error


def written_to(func: OpOverload, args: Sequence, kwargs: Mapping) -> list[Tensor]:
    """Return the tensors that the op writes to."""
    targets = []
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            targets += [value] if isinstance(value, Tensor) else list(value or ())
    return targets


def _words(call, func, args, kwargs, other):
    plan = call.plan
    if plan.indices and args[0].device.type == "cpu":
        return messages.other_index(args[0].device)
    if plan.name in _CONVOLUTIONS:
        for name, tensor in zip(("weight", "bias"), args[1:3], strict=False):
            if tensor is not None and tensor.device.type != args[0].device.type:
                return messages.other_types(_type(args[0]), _type(tensor), name)
    if plan.name.removesuffix("_") == "masked_fill":
        mask, device = args[1].device, args[0].device
        return messages.OTHER_FILLER if mask == device else messages.other_mask(mask, device)
    if plan.scalars:
        return messages.different_devices(call.where, other.device)
    method, names = INSTEAD.get(plan.name, (method_of(func), {}))
    tensors = list(_tensors_by_name(func, args, kwargs))
    if names:
        tensors = [(names[name], tensor) for name in names for argument, tensor in tensors if argument == name]
    common = tensors[0][1].device
    for name, tensor in tensors:
        if tensor.device != common:
            return messages.other_argument(name, tensor.device, common, method)
    return messages.different_devices(call.where, other.device)  # a convolution's bias is added later


def _tensors_by_name(func, args, kwargs):
    """Yield (name, tensor) in the order in which CUDA looks at them: what is written to `out` comes first."""
    arguments = func._schema.arguments
    values = dict(zip([argument.name for argument in arguments], args, strict=False)) | kwargs
    for argument in sorted(arguments, key=lambda item: not item.is_out):
        value = values.get(argument.name)
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, Tensor):
                yield argument.name, tensor


def reworded(error: RuntimeError, func: Callable, args: tuple) -> RuntimeError:
    """Return a refusal of this file as `func` words it: a recurrent function looks at devices before its ops do."""
    if getattr(func, "__name__", "") not in RECURRENT or len(args) < 4:
        return error
    place = 3 if isinstance(args[3], (list, tuple)) else 2  # a packed sequence has the sizes of its batches before
    where = args[0].device
    for name, tensors in (("hidden", args[place - 1]), ("parameter", args[place])):
        for tensor in (tensors,) if isinstance(tensors, Tensor) else tensors:
            if tensor.device != where:
                return RuntimeError(messages.other_state(where, name, tensor.device))
    return error


def _type(tensor):
    name = torch.empty(0, dtype=tensor.dtype).type()
    return name.replace("torch.", "torch.cuda.") if tensor.device.type == "cuda" else name
