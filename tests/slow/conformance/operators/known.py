"""What is known of ops that don't agree, with its reason; the table shows it, and all else that differs is a fault."""

#: Words of an error -> why simulated GPUs refuse the op.
REASONS = {
    "Simulated GPUs have no": "sparse tensors: simulated GPUs have none but an embedding's gradient",
    "from the 'CUDA' backend": "CUDA has no kernel of it",
    "aten::mm.dtype_out": "a product in another dtype than its factors': torch has a kernel for CUDA alone",
}
#: (op, way) -> why the CPU's outcome is not the one to reach.
OF_TORCH = {
    ("fft_ihfft2", "out"): "torch itself forgets to write to `out` where the last step is over one dimension",
    ("fft_ihfftn", "out"): "torch itself forgets to write to `out` where the last step is over one dimension",
    ("linalg_lu_solve", "out"): "torch itself marks a complex `out` as requiring a gradient",
    ("ormqr", "gradient"): "torch's formula copies for subclasses of Tensor: the same numbers, in another order",
}
