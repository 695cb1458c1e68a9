"""Moving a tensor as autograd sees it, and gradients: each goes back to where its tensor lies, or came from."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from simgpu.messages import NO_DATA, NOT_TRACED
from simgpu.ops.device_tensor import DeviceTensor, read
from simgpu.ops.results import put
from simgpu.state import active, required

_to_copy = torch.ops.aten._to_copy.default
#: Those of plain tensors, and of shapes without numbers: torch's own would be on cuda to C++, which ends the process.
_NO_OWN_DISPATCH = (Tensor.__torch_dispatch__, FakeTensor.__torch_dispatch__)
_quiet = torch._C.DisableTorchFunctionSubclass
_get_grad, _set_grad = Tensor.grad.__get__, Tensor.grad.__set__  # torch's own


def move(
    tensor: Tensor, device: torch.device, dtype: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a copy of `tensor` on `device`, of `dtype` if given. Differentiable."""
    if torch.is_grad_enabled() and tensor.requires_grad:
        return _Move.apply(tensor, device, dtype, non_blocking, memory_format)
    return _copied(tensor, device, dtype, non_blocking, memory_format)


class _Move(torch.autograd.Function):
    # A C++ copy would send the gradient to the C++ device of its input, which is the CPU for every simulated one.

    @staticmethod
    def forward(ctx, tensor, device, dtype, non_blocking, memory_format):
        ctx.back = tensor.device, tensor.dtype
        return _copied(tensor, device, dtype, non_blocking, memory_format)

    @staticmethod
    def backward(ctx, gradient):
        device, dtype = ctx.back
        return move(gradient, device, dtype if dtype != gradient.dtype else None), None, None, None, None


def _copied(tensor, device, dtype, non_blocking, memory_format):
    if tensor.is_meta:
        raise NotImplementedError(NO_DATA)
    if get_proxy_mode() is not None:  # what is traced would take the copy's numbers for constants
        raise NotImplementedError(NOT_TRACED)
    options = {"device": device, "non_blocking": non_blocking}
    if dtype is not None:
        options["dtype"] = dtype
    if memory_format is not None:
        options["memory_format"] = memory_format
    if not isinstance(tensor, DeviceTensor):
        if device.type == "cpu":  # the gradient of a change of dtype alone
            return tensor.to(dtype or tensor.dtype)
        if type(tensor).__torch_dispatch__ not in _NO_OWN_DISPATCH:  # a class of the program's: it moves what is inside
            return _to_copy(tensor, **options)
        # As a simulated tensor whose device is the CPU: the op then runs here, and a log sees one copy.
        with torch._C._DisableTorchDispatch():  # this is no op of the program: a log must not see it
            inside = tensor.detach()
        tensor = _as_simulated(inside, tensor.device, active())
    elif device.type == "cpu":
        tensor = _as_simulated(read(tensor), tensor.where, tensor.simulation)
        tensor.leaves = True
    with torch._C.DisableTorchFunction():  # else its `device=` reads as a factory's, and the copy as work of the device
        return _to_copy(tensor, **options)


def _as_simulated(numbers, where, simulation):
    """Return a simulated tensor for one op, without the bits of lazy conjugation: C++ would make a new tensor."""
    tensor = simulation.tensor_class(numbers, where, simulation)
    torch._C._set_conj(tensor, False)
    torch._C._set_neg(tensor, False)
    return tensor


def gathered(numbers: Tensor, device: torch.device) -> Tensor:
    """Return Python's numbers, which torch has gathered in a CPU tensor of its own, on `device`: one copy's time."""
    simulation: Any = active()
    simulation.memory.check_room(device.index, numbers.nbytes)
    simulation.clock.copy(None, device.index, numbers.nbytes)
    return put(numbers, device, simulation)


def get_grad(tensor: Tensor) -> Tensor | None:
    """`tensor.grad`, which lies where the tensor does, unless a program moved the tensor away from it."""
    with _quiet():
        gradient = _get_grad(tensor)
        if gradient is None or gradient.device == tensor.device or hasattr(gradient, "left_behind"):
            return gradient
        if isinstance(tensor, DeviceTensor):
            read(tensor)
        _set_grad(tensor, placed(gradient, tensor.device))
        return _get_grad(tensor)


def register_hook(tensor: Tensor, hook: Callable) -> Any:
    """`Tensor.register_hook`: `hook` is called with the tensor's gradient where the tensor lies."""
    where = tensor.device

    def on_device(gradient):
        return hook(gradient if gradient.device == where else placed(gradient, where))

    with _quiet():
        return Tensor.register_hook(tensor, on_device)


def placed_all(gradients: Any, tensors: Any) -> Any:
    """Return the gradients as `torch.autograd.grad` gives them for `tensors`, each where its tensor lies."""
    if isinstance(gradients, dict):
        return {name: _placed_beside(gradient, tensors[name]) for name, gradient in gradients.items()}
    tensors = (tensors,) if not isinstance(tensors, (list, tuple)) else tensors
    return tuple(map(_placed_beside, gradients, tensors))


def _placed_beside(gradient, tensor):
    if not isinstance(gradient, Tensor) or not isinstance(tensor, Tensor) or gradient.device == tensor.device:
        return gradient
    return placed(gradient, tensor.device)


def placed(gradient: Tensor, device: torch.device) -> Tensor:
    """Return `gradient` on `device`; no time passes, for a GPU would have made it there. Differentiable."""
    if torch.is_grad_enabled() and gradient.requires_grad:
        return _Placed.apply(gradient, device)
    numbers = gradient.numbers if isinstance(gradient, DeviceTensor) else gradient
    if device.type == "cpu":
        return numbers
    numbers = numbers.clone() if numbers._is_zerotensor() else numbers.detach()  # a formula's zeros without memory
    return put(numbers, device, required())


class _Placed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gradient, device):
        ctx.back = gradient.device
        return placed(gradient, device)

    @staticmethod
    def backward(ctx, gradient):
        return placed(gradient, ctx.back), None
