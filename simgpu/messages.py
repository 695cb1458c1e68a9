"""What CUDA says when something is wrong, word for word, and what the simulation says of itself."""

from typing import Any


def different_devices(first: object, other: object) -> str:
    """Return the message for tensors of one op on two devices, as pointwise ops give it."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}!"


def invalid_ordinal() -> str:
    """Return the message for a device index that no device has."""
    return (
        "CUDA error: invalid device ordinal\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )


def no_kernel(name: str) -> str:
    """Return the message for an op, `course::life_step`, that was never told how to run on CUDA."""
    return (
        f"Could not run '{name}' with arguments from the 'CUDA' backend. This could be because the operator doesn't "
        "exist for this backend, or was omitted during the selective/custom build process (if using custom build). "
        f"'{name}' is only available for these backends: [CPU, Meta]."
    )


def below_dispatch(name: str) -> str:
    """Return the message for C++ that would make a tensor where it can't be a simulated one."""
    return (
        f"{name.removeprefix('aten::')} on a simulated GPU: torch's C++ would write to its memory directly. If the "
        "call is torch.tensor, as_tensor or asarray, imported by name before simulated_gpus(…) started, write "
        "torch.tensor; else make the tensor on the CPU and move it with .to()."
    )


def not_pinned() -> str:
    """Return the message for `pin_memory=True` and a device."""
    return "Only dense CPU tensors can be pinned"


def not_dense(layout: object) -> str:
    """Return the message for a sparse tensor."""
    return f"Simulated GPUs have no {layout} tensors: use a dense one, or keep it on the CPU."


def not_numpy(device: object) -> str:
    """Return the message for `.numpy()` of a tensor on a GPU."""
    return (
        f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    )


def no_interface(device: object) -> str:
    """Return the message for a program that wants the memory itself, which is not on any GPU."""
    return f"{device} is simulated: its memory cannot be handed to another library. Copy the tensor with .cpu() first."


def other_argument(name: str, device: object, common: object, op: str) -> str:
    """Return the message for an argument that is not where the other ones are, as all but pointwise ops give it."""
    return (
        f"Expected all tensors to be on the same device, but got {name} is on {device}, different from other tensors "
        f"on {common} (when checking argument in method wrapper_CUDA_{op})"
    )


def real_beside_simulated(device: object) -> str:
    """Return the message for a tensor of a real GPU in an op with simulated ones."""
    return (
        f"A tensor on the real {device} can't be used with simulated ones: copy it with .cpu() before "
        "simulated_gpus(…) starts, or close the simulation to use the real GPU."
    )


def other_index(allowed: object) -> str:
    """Return the message for an index on a device where the indexed tensor, on `allowed`, can't use it."""
    return f"indices should be either on cpu or on the same device as the indexed tensor ({allowed})"


def other_types(given: object, weight: object) -> str:
    """Return the message of a convolution whose input and weight are on different devices."""
    return f"Input type ({given}) and weight type ({weight}) should be the same"


def assigned_gradient(given: Any, wanted: Any) -> str:
    """Return the message for `x.grad = gradient` with a gradient on another device."""
    return (
        f"attempting to assign a gradient with device type '{given.type}' to a tensor with device type "
        f"'{wanted.type}'. Please ensure that the gradient and the tensor are on the same device"
    )


def invalid_gradient(given: object, wanted: object, name: str = "", index: int = 0) -> str:
    """Return the message for a backward pass that is started, or goes on after the function `name`, with a gradient
    on another device."""
    function = f"Function {name}" if name else "Function"
    return f"{function} returned an invalid gradient at index {index} - expected device {wanted} but got {given}"


def left_behind(name: str, device: object) -> str:
    """Return the message for a function whose result is not where its arguments are."""
    return (
        f"{name} of tensors on {device} gave a tensor on the CPU: torch's C++ makes one there that simulated GPUs "
        "can't see. Its numbers may be wrong, so they are not handed out. Do this step on the CPU: copy the tensors "
        "with .cpu() first."
    )


def no_class_of_ones_own(name: str) -> str:
    """Return the message for a tensor that is to become one of a program's own class, `name`."""
    return (
        f"A simulated GPU's tensor can't be of the class {name}: it has simgpu's own. Keep such tensors on the CPU, or "
        "hold the tensor in an object instead of inheriting from torch.Tensor."
    )


def not_traced() -> str:
    """Return the message for a copy between devices within `make_fx` or `torch.func.linearize`."""
    return "A copy from or to a simulated GPU can't be traced: make it before the function that is traced."


def only_on_cpu(name: str) -> str:
    """Return the message for a method that calls a Python function for every element."""
    return f"{name} is only implemented on CPU tensors"


def other_storage(storage: object, device: object) -> str:
    """Return the message for `set_` with a storage of another device."""
    return (
        f'Attempted to set the storage of a tensor on device "{device}" to a storage on different device '
        f'"{storage}".  This is no longer allowed; the devices must match.'
    )


def closed(simulation: object) -> str:
    """Return the message for a tensor that outlived its simulation."""
    return (
        f"This tensor is on a device of {simulation!r}, which was closed: its numbers are gone with it. "
        "Take them out with .cpu() before closing, or make the tensor again in a new simulation."
    )
