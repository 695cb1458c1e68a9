"""`__torch_function__` of simulated tensors: factories with `device="cuda:0"`, moves, ops that mix devices."""

from collections.abc import Callable
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch
import torch.utils._device as default_device
from torch import Tensor
from torch.utils._pytree import tree_map

from simgpu import state
from simgpu.calls import conversions, packed_sequences
from simgpu.calls.arguments import any_simulated, common_device, makes_plain, tensors_in
from simgpu.calls.factories import make, make_inside
from simgpu.calls.moves import placed_all
from simgpu.calls.one_hot import one_hot
from simgpu.calls.out_arguments import copied_out, is_composed
from simgpu.calls.python_functions import body_of
from simgpu.cuda.generators import check_generator
from simgpu.memory.host import mark
from simgpu.messages import invalid_gradient, left_behind
from simgpu.ops.backward_formulas import entrance
from simgpu.ops.device_mismatch import refused, reworded
from simgpu.ops.device_tensor import DeviceTensor, read

_quiet = torch._C.DisableTorchFunctionSubclass
_CPU = torch.device("cpu")
_REFUSED = object()
#: Take a CPU tensor and only the size of another, wherever that is.
_ONLY_SIZES = {"expand_as", "view_as", "reshape_as", "broadcast_tensors"}
_disabled: Any = torch._C._disabled_torch_function_impl  # calls a function, ours hidden from it; quicker than `_quiet`
_autocast = torch.is_autocast_enabled
_ExcludeKeys = torch._C._ExcludeDispatchKeyGuard
_AUTOCAST_OF_HOST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


@entrance
def run(func: Callable, args: tuple, kwargs: dict | None) -> Any:
    """Run a function of torch as a machine with the simulated GPUs would."""
    handler = _HANDLERS.get(func)
    if handler is not None:
        return handler(*args, **(kwargs or {}))
    try:
        body = _BODIES[func]
    except KeyError:
        body = _BODIES[func] = body_of(func)
    if body is not None:
        return body(*args, **(kwargs or {}))
    simulation: Any = state.active()
    if kwargs:
        if simulation is not None and kwargs.get("pin_memory") and _is_host(kwargs.get("device")):
            return mark(run(func, args, {name: value for name, value in kwargs.items() if name != "pin_memory"}))
        if simulation is not None and kwargs.get("device") is not None:
            return _on_device(func, args, kwargs, kwargs["device"], simulation)
    if default_device.CURRENT_DEVICE is not None and func in default_device._device_constructors():
        return _on_device(func, args, kwargs or {}, default_device.CURRENT_DEVICE, simulation)
    if kwargs and kwargs.get("generator") is not None:
        check_generator(kwargs["generator"], _first_device(args))
    if kwargs and kwargs.get("out") is not None and is_composed(func):
        result = run(func, args, {name: value for name, value in kwargs.items() if name != "out"})
        return copied_out(func, args, kwargs, result)
    try:
        with _without_autocast_of_host() if _autocast("cpu") else _quiet():
            result = func(*args, **kwargs) if kwargs else func(*args)
    except RuntimeError as error:
        if not refused(error):
            raise
        if common_device(args, kwargs or {}) is None:
            raise reworded(error, func, args) from None  # here: a function that raised what it is given would keep it
        result = _REFUSED
    return _checked(func, args, kwargs or {}, result)


def _checked(func, args, kwargs, result):
    """Return the result of a function of simulated tensors, on their device.

    A plain tensor, or a refusal of two devices, means that C++ made a tensor of its own on the C++ device: the function
    runs again, and the tensors that it makes are put where its arguments are. A result that is still plain is refused.
    """
    if result is not _REFUSED and not makes_plain(result, args, kwargs):
        return result
    where = common_device(args, kwargs)
    if where is not None:
        result = make_inside(func, args, kwargs, where, state.active())
    if makes_plain(result, args, kwargs) and func.__name__ not in _ONLY_SIZES and any_simulated(args, kwargs):
        device = next(
            tensor.device for tensor in (*tensors_in(args), *tensors_in(kwargs)) if isinstance(tensor, DeviceTensor)
        )
        raise RuntimeError(left_behind(func.__name__, device))
    return result


def _on_device(func, args, kwargs, device, simulation):
    """Run a function with a device, given by its caller or by `torch.set_default_device`."""
    device = state.device_of(device)
    if kwargs.get("generator") is not None:
        check_generator(kwargs["generator"], device)
    if device.type == "cuda":
        return make(func, args, kwargs, device, simulation)
    if device.type == "cpu":  # `torch.zeros_like(x, device="cpu")`
        args = tree_map(lambda value: read(value) if isinstance(value, DeviceTensor) else value, args)
    with _quiet():
        return func(*args, **{**kwargs, "device": device})


def _is_host(device):
    device = default_device.CURRENT_DEVICE if device is None else device
    return device is None or state.device_of(device).type == "cpu"


def _first_device(args):
    return next((value.device for value in args if isinstance(value, Tensor)), _CPU)


@contextmanager
def _without_autocast_of_host():
    """As `_quiet`, and without the CPU's autocast, which C++ would apply: it takes simulated tensors for the CPU's."""
    with _quiet(), _ExcludeKeys(_AUTOCAST_OF_HOST):
        yield


def _backward(tensor, gradient=None, *args, **kwargs):
    if isinstance(gradient, Tensor) and gradient.device != tensor.device:
        raise RuntimeError(invalid_gradient(gradient.device, tensor.device))
    return _BACKWARD(tensor, gradient, *args, **kwargs)


@entrance
def of_class(cls: type, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    """`__torch_function__` of simulated tensors: most functions of C++ need nothing but their arguments."""
    if not kwargs and not _autocast("cpu"):
        direct = _DIRECT.get(func)
        if direct is None:
            direct = _DIRECT[func] = _is_direct(func)
        if direct:
            try:
                result = _disabled(func, types, args)
                if type(result) is cls:
                    return result
            except RuntimeError as error:
                if not refused(error):
                    raise
                if common_device(args, {}) is None:
                    raise reworded(error, func, args) from None
                result = _REFUSED
            return _checked(func, args, {}, result)
    return run(func, args, kwargs)


def forget() -> None:
    """Forget which functions are direct: those that a simulation put in place of torch's own end with it."""
    _DIRECT.clear()
    _BODIES.clear()


def _is_direct(func):
    """Return whether `func` is one of C++ that needs nothing but its arguments."""
    if func in _HANDLERS or func in default_device._device_constructors():
        return False
    return type(func) is not FunctionType or body_of(func) is None


def _grad(outputs, inputs, *args, **kwargs):
    return placed_all(_GRAD(outputs, inputs, *args, **kwargs), inputs)


def _same_layout(tensor, other):
    return tensor.layout == other.layout


_BACKWARD = body_of(Tensor.backward)
_GRAD = body_of(torch.autograd.grad)
_DIRECT: dict[Callable, bool] = {}  # function -> whether it needs nothing but its arguments
_BODIES: dict[Callable, Callable | None] = {}  # function -> its body, None for one of C++; some hundred at most
_HANDLERS: dict[Any, Callable] = {
    torch._has_compatible_shallow_copy_type: _same_layout,  # in inference mode it would be dispatched as an op
    Tensor.to: conversions.to,
    Tensor.cuda: conversions.cuda,
    Tensor.cpu: conversions.cpu,
    Tensor.type: conversions.type_,
    Tensor.type_as: conversions.type_as,
    Tensor.new_tensor: conversions.new_tensor,
    Tensor.__getitem__: conversions.getitem,
    Tensor.copy_: conversions.copy_,
    Tensor.set_: conversions.set_,
    Tensor.__setitem__: conversions.setitem,
    torch.autograd.grad: _grad,
    Tensor.backward: _backward,
    torch._C._nn.one_hot: one_hot,
    torch._VF._pack_padded_sequence: packed_sequences.pack_padded_sequence,
    torch._VF._pad_packed_sequence: packed_sequences.pad_packed_sequence,
}
