"""What a program calls, before torch runs it: factories told `device="cuda:0"`, moves, and questions about devices."""

import torch
import torch.utils._device
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course.devices.simulated import session
from course.devices.simulated.making import make
from course.devices.simulated.messages import not_numpy
from course.devices.simulated.moves import move
from course.devices.simulated.tensor import SimulatedTensor, read

_quiet = torch._C.DisableTorchFunctionSubclass


class Functions(TorchFunctionMode):
    """Sees every function of torch that a thread calls while its simulation is active."""

    def __init__(self, simulation):
        self.simulation = simulation

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if self.simulation.closed:
            return func(*args, **(kwargs or {}))
        return run(func, args, kwargs)


def run(func, args, kwargs):
    """Run a function of torch as a machine with the simulated GPUs would."""
    handler = _HANDLERS.get(func)
    if handler is not None:
        return handler(*args, **(kwargs or {}))
    if kwargs and kwargs.get("device") is not None:
        simulation = session.active()
        device = simulation.device_of(kwargs["device"])
        if device.type == "cuda":
            return make(func, args, kwargs, device, simulation)
    elif torch.utils._device.CURRENT_DEVICE is not None and func in torch.utils._device._device_constructors():
        simulation = session.active()
        device = simulation.device_of(torch.utils._device.CURRENT_DEVICE)
        if device.type == "cuda":
            return make(func, args, kwargs or {}, device, simulation)
    with _quiet():
        return func(*args, **kwargs) if kwargs else func(*args)


def _to(tensor, *args, copy=False, **kwargs):
    if "other" in kwargs:
        args = (kwargs.pop("other"), *args)
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    if args and isinstance(args[0], int) and not isinstance(args[0], bool):
        args = (torch.device("cuda", args[0]), *args[1:])
    if args and isinstance(args[-1], bool) and isinstance(args[-2:][0], bool) and len(args) > 2:
        args, copy = args[:-1], args[-1]
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    simulation = session.active()
    device = tensor.device if device is None else simulation.device_of(device)
    if device == tensor.device:
        options = {} if memory_format is None else {"memory_format": memory_format}
        with _quiet():
            return tensor.to(dtype or tensor.dtype, copy=copy, **options)
    return move(tensor, device, None if dtype == tensor.dtype else dtype, non_blocking, memory_format)


def _cuda(tensor, device=None, non_blocking=False, memory_format=torch.preserve_format):
    return _to(tensor, "cuda" if device is None else device, non_blocking=non_blocking)


def _cpu(tensor, memory_format=torch.preserve_format):
    return _to(tensor, "cpu")


def _copy_(tensor, source, non_blocking=False):
    if source.device != tensor.device and source.requires_grad:
        source = move(source, tensor.device)
    with _quiet():
        return tensor.copy_(source, non_blocking)


def _numpy(tensor, *, force=False):
    if isinstance(tensor, SimulatedTensor):
        if not force:
            raise TypeError(not_numpy(tensor.device))
        tensor = move(tensor.detach(), torch.device("cpu"))
    return tensor.numpy(force=force)


def _tolist(tensor):
    return _to(tensor.detach(), "cpu").tolist()


def _repr(tensor, *, tensor_contents=None):
    if not isinstance(tensor, SimulatedTensor):
        return torch._tensor_str._str(tensor, tensor_contents=tensor_contents)
    with torch._C.DisableTorchFunction():
        text = torch._tensor_str._str(read(tensor).detach())
    return f"{text[:-1]}, device='{tensor.device}', simulated)"


_HANDLERS = {
    Tensor.to: _to,
    Tensor.cuda: _cuda,
    Tensor.cpu: _cpu,
    Tensor.copy_: _copy_,
    Tensor.numpy: _numpy,
    Tensor.tolist: _tolist,
    Tensor.__repr__: _repr,
}


def _of_class(cls, func, types, args=(), kwargs=None):
    return run(func, args, kwargs)


# Here and not in the class: these functions need the class, and a thread without the mode needs them.
SimulatedTensor.__torch_function__ = classmethod(_of_class)
