"""What CUDA says when something is wrong, word for word, and what the simulation says of itself."""


def different_devices(first, other):
    """Return the message for tensors of one op on two devices, as pointwise ops give it."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {other}!"


def invalid_ordinal():
    """Return the message for a device index that no device has."""
    return (
        "CUDA error: invalid device ordinal\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )


def no_kernel(name):
    """Return the message for an op, `course::life_step`, that was never told how to run on CUDA."""
    return (
        f"Could not run '{name}' with arguments from the 'CUDA' backend. This could be because the operator doesn't "
        "exist for this backend, or was omitted during the selective/custom build process (if using custom build). "
        f"'{name}' is only available for these backends: [CPU, Meta]."
    )


def not_numpy(device):
    """Return the message for `.numpy()` of a tensor on a GPU."""
    return (
        f"can't convert {device} device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


def closed(simulation):
    """Return the message for a tensor that outlived its simulation."""
    return (
        f"This tensor is on a device of {simulation!r}, which was closed: its numbers are gone with it. "
        "Take them out with .cpu() before closing, or make the tensor again in a new simulation."
    )
