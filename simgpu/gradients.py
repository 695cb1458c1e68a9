"""Gradients that a formula of torch's C++ made on the CPU, put where the tensor that they belong to lies."""

import torch
from torch import Tensor

from simgpu import session
from simgpu.results import put
from simgpu.tensor import SimulatedTensor, read

_quiet = torch._C.DisableTorchFunctionSubclass


def get_grad(tensor):
    """`tensor.grad`, which lies where the tensor does, unless a program moved the tensor away from it."""
    with _quiet():
        gradient = tensor.grad
        if gradient is None or gradient.device == tensor.device or hasattr(gradient, "left_behind"):
            return gradient
        if isinstance(tensor, SimulatedTensor):
            read(tensor)
        tensor.grad = placed(gradient, tensor.device)
        return tensor.grad


def placed_all(gradients, tensors):
    """Return the gradients as `torch.autograd.grad` gives them for `tensors`, each where its tensor lies."""
    if isinstance(gradients, dict):
        return {name: _placed_beside(gradient, tensors[name]) for name, gradient in gradients.items()}
    tensors = (tensors,) if not isinstance(tensors, (list, tuple)) else tensors
    return tuple(map(_placed_beside, gradients, tensors))


def _placed_beside(gradient, tensor):
    if not isinstance(gradient, Tensor) or not isinstance(tensor, Tensor) or gradient.device == tensor.device:
        return gradient
    return placed(gradient, tensor.device)


def placed(gradient, device):
    """Return `gradient` on `device`; no time passes, for a GPU would have made it there. Differentiable."""
    if torch.is_grad_enabled() and gradient.requires_grad:
        return _Placed.apply(gradient, device)
    numbers = gradient.numbers if isinstance(gradient, SimulatedTensor) else gradient
    if device.type == "cpu":
        return numbers
    return put(SimulatedTensor, numbers.detach(), device, session.active())


class _Placed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gradient, device):
        ctx.back = gradient.device
        return placed(gradient, device)

    @staticmethod
    def backward(ctx, gradient):
        return placed(gradient, ctx.back), None
