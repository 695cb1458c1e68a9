"""The texts of errors: CUDA's, word for word, and the simulation's own."""

from typing import Any


def different_devices(first: object, other: object) -> str:
    """Return the message for tensors of one op on two devices, as pointwise ops give it."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}!"


_ASYNCHRONOUS = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
#: A device index that no device has.
INVALID_ORDINAL = f"CUDA error: invalid device ordinal\n{_ASYNCHRONOUS}"


def cuda_error(words: str, name: str) -> str:
    """Return the message of one of CUDA's errors: its `words` and its `name`."""
    return (
        f"CUDA error: {words}\nSearch for `{name}' in https://docs.nvidia.com/cuda/cuda-runtime-api/"
        "group__CUDART__TYPES.html for more information."
    )


def device_assert(failed: str) -> str:
    """Return the message for a device-side assert; `failed` says which, and where in the program."""
    return (
        f"{cuda_error('device-side assert triggered', 'cudaErrorAssert')}\n{_ASYNCHRONOUS}"
        f"\n{failed}\n"
        "Simulated, as on CUDA: the context is lost, and every call on these GPUs raises this from now on. "
        "Correct that line and begin anew: end this simulation, or call its .reset()."
    )


def unnoticed_assert(failed: str) -> str:
    """Return the warning of a device-side assert that no call of the program has raised."""
    return f"A device-side assert failed on a simulated GPU, and nothing waited for it: its results are wrong. {failed}"


#: A second capture of a CUDA graph while one goes on.
CAPTURING = cuda_error("operation not permitted when stream is capturing", "cudaErrorStreamCaptureUnsupported")
#: A call that waits for the GPU while a CUDA graph is captured.
NOT_IN_CAPTURE = (
    f"{CAPTURING}\n"
    "A capture runs nothing: there is no value yet to wait for. Read it after .replay(), or do this step outside "
    "of the graph."
)
#: Asking, or waiting for, an event that was recorded while a CUDA graph was captured.
NOT_CAPTURED_EVENT = cuda_error(
    "operation not permitted on an event last recorded in a capturing stream", "cudaErrorCapturedEvent"
)
#: A capture in which no op was called.
EMPTY_GRAPH = (
    "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device or stream."
)


def no_collective(name: str) -> str:
    """Return the message for a collective in a CUDA graph."""
    return f"{name} in a CUDA graph: simulated GPUs do not do this. Call it between two graphs."


def no_kernel(name: str) -> str:
    """Return the message for an op, `course::life_step`, that has no kernel for CUDA."""
    return (
        f"Could not run '{name}' with arguments from the 'CUDA' backend. This could be because the operator doesn't "
        "exist for this backend, or was omitted during the selective/custom build process (if using custom build). "
        f"'{name}' is only available for these backends: [CPU, Meta]."
    )


def no_backend(kind: str) -> str:
    """Return the message for a collective of NCCL that is given a tensor on a device of another kind."""
    return f"No backend type associated with device type {kind}"


def below_dispatch(name: str) -> str:
    """Return the message for C++ that would make a tensor where it can't be a simulated one."""
    return (
        f"{name.removeprefix('aten::')} on a simulated GPU: torch's C++ would write to its memory directly. If the "
        "call is torch.tensor, as_tensor or asarray, imported by name before simulated_gpus(…) started, write "
        "torch.tensor; else make the tensor on the CPU and move it with .to()."
    )


#: `pin_memory=True` and a device.
NOT_PINNED = "Only dense CPU tensors can be pinned"


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
    """Return the message for an argument that is not where the other ones are, as all but pointwise ops give it; `op`
    is what CUDA's kernel is called."""
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


def other_types(input_type: object, parameter_type: object, name: str) -> str:
    """Return the message of a convolution whose input and `name`, its weight or bias, are on different devices."""
    return f"Input type ({input_type}) and {name} type ({parameter_type}) should be the same"


def other_mask(mask: object, device: object) -> str:
    """Return the message of `masked_fill` whose mask is elsewhere."""
    return f"expected self and mask to be on the same device, but got mask on {mask} and self on {device}"


#: `masked_fill` of a CPU tensor with a number on a GPU.
OTHER_FILLER = "masked_fill_: Expected inputs to be on same device"


def other_state(input_device: object, name: str, device: object) -> str:
    """Return the message of a recurrent layer whose input is elsewhere than its `name`, hidden or parameter."""
    return (
        f"Input and {name} tensors are not at the same device, found input tensor at {input_device} and {name} "
        f"tensor at {device}"
    )


def assigned_gradient(gradient_device: Any, tensor_device: Any) -> str:
    """Return the message for `x.grad = gradient` with a gradient on another device."""
    return (
        f"attempting to assign a gradient with device type '{gradient_device.type}' to a tensor with device type "
        f"'{tensor_device.type}'. Please ensure that the gradient and the tensor are on the same device"
    )


def invalid_gradient(gradient_device: object, device: object, name: str = "", index: int = 0) -> str:
    """Return the message for a backward pass that is started, or goes on after the function `name`, with a gradient
    on another device."""
    function = f"Function {name}" if name else "Function"
    return (
        f"{function} returned an invalid gradient at index {index} - expected device {device} but got {gradient_device}"
    )


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


#: A copy between devices within `make_fx` or `torch.func.linearize`.
NOT_TRACED = "A copy from or to a simulated GPU can't be traced: make it before the function that is traced."


def only_on_cpu(name: str) -> str:
    """Return the message for a method that calls a Python function for every element."""
    return f"{name} is only implemented on CPU tensors"


#: `binary_cross_entropy` in a region of autocast.
UNSAFE_TO_AUTOCAST = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


def not_implemented(kernel: str, dtype: str) -> str:
    """Return the message for a dtype, `Long`, that a kernel of CUDA's lacks."""
    return f"\"{kernel}\" not implemented for '{dtype}'"


def not_for_cudnn(dtype: str) -> str:
    """Return the message for a convolution of a dtype that cuDNN doesn't know."""
    return f"getCudnnDataTypeFromScalarType() not supported for {dtype}"


#: A convolution that cuDNN has no way to compute.
NO_ENGINE = "GET was unable to find an engine to execute this computation"


#: A copy of a tensor on the device `meta`, which is a shape alone.
NO_DATA = "Cannot copy out of meta tensor; no data!"


#: CUDA in a child that was forked after its parent had used CUDA.
IN_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
    "start method"
)


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
