"""Moving a tensor to a device, as autograd sees it: the gradient goes back to where the tensor came from."""

import torch

from simgpu.session import active
from simgpu.tensor import SimulatedTensor, read

_to_copy = torch.ops.aten._to_copy.default


def move(tensor, device, dtype=None, non_blocking=False, memory_format=None):
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
    options = {"device": device, "non_blocking": non_blocking}
    if dtype is not None:
        options["dtype"] = dtype
    if memory_format is not None:
        options["memory_format"] = memory_format
    if not isinstance(tensor, SimulatedTensor):
        if device.type == "cpu":  # the gradient of a change of dtype alone
            return tensor.to(dtype or tensor.dtype)
        # Dressed as a simulated tensor whose device is the CPU, so that the op is ours to run and a log sees one copy.
        with torch._C._DisableTorchDispatch():  # what dresses it is no op of the program: a log must not see it
            inside = tensor.detach()
        tensor = SimulatedTensor(inside, tensor.device, active())
    elif device.type == "cpu":
        tensor = SimulatedTensor(read(tensor), tensor.where, tensor.simulation)
        tensor.leaves = True
    with torch._C.DisableTorchFunction():  # else its `device=` reads as a factory's, and the copy as work of the device
        return _to_copy(tensor, **options)
