"""What CUDA's kernels are called in messages on devices, as torch's code generator names them: tables and rules.

The names follow torchgen/dest/register_dispatch_key.py; native_functions.yaml says which ops are structured, and
of which TensorIterator checks the devices. A test compares the tables with both, as torch's wheel brings them.
"""

import torch
from torch._ops import OpOverload

#: Have a structured kernel: its name ends in the overload's, others begin with it. Only ops that read several tensors.
STRUCTURED = frozenset(
    "_addmm_activation _convert_indices_from_csr_to_coo _linalg_solve_ex _log_softmax_backward_data "
    "_softmax_backward_data adaptive_max_pool2d_backward adaptive_max_pool3d_backward addmm addmv "
    "avg_pool2d_backward avg_pool3d_backward baddbmm bmm cat clamp clamp_max clamp_min elu_backward "
    "fractional_max_pool2d fractional_max_pool2d_backward fractional_max_pool3d gather gcd gelu_backward "
    "hardshrink_backward hardsigmoid_backward igamma igammac index_add index_copy index_reduce isin lcm "
    "leaky_relu_backward linalg_cross linalg_ldl_solve linalg_lu_solve logaddexp logaddexp2 logit_backward lu_unpack "
    "max_pool2d_with_indices_backward mm nextafter nll_loss_backward nll_loss_forward reflection_pad1d_backward "
    "reflection_pad3d_backward replication_pad1d_backward scatter scatter_add scatter_reduce "
    "sigmoid_backward silu_backward slow_conv_transpose2d softplus_backward softshrink_backward tanh_backward "
    "threshold_backward triangular_solve".split()
)
if hasattr(torch.ops.aten, "_scaled_addmm"):  # in torch 2.15: it, and those that are structured since it is there
    STRUCTURED |= {"_scaled_addmm", "_scaled_grouped_mm_v2", "_scaled_mm_v2"}

#: Declared pointwise, but their devices are looked at beforehand: a 0-dim CPU tensor isn't taken along.
CHECKED = frozenset(
    "clamp clamp_max clamp_min equal gcd gelu_backward igamma igammac lcm logaddexp logaddexp2 logit_backward "
    "nextafter silu_backward threshold_backward".split()
)

#: Not declared pointwise, but TensorIterator looks at their devices.
ITERATED = frozenset(
    "mse_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits floor_divide".split()
)

#: op -> (the op that CUDA runs in its place, the names there of the arguments, in the order in which they are given).
INSTEAD: dict[str, tuple[str, dict[str, str]]] = {
    "embedding": ("_index_select", {"weight": "self", "indices": "index"}),
    "stack": ("cat", {"tensors": "tensors"}),
    "mv": ("addmv_", {"vec": "vec", "self": "mat"}),  # its result is made where the vector is
    "convolution": ("_cudnn_convolution", {"input": "self", "weight": "weight"}),
    "native_batch_norm": ("_cudnn_batch_norm", {}),
    "_native_batch_norm_legit": ("_cudnn_batch_norm", {}),
}

#: Recurrent functions of torch, which look at the devices of their tensors by themselves.
RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})


def method_of(func: OpOverload) -> str:
    """Return what CUDA's kernel of an op is called, without its prefix `wrapper_CUDA_`.

    >>> import torch
    >>> method_of(torch.ops.aten.mm.default), method_of(torch.ops.aten.index_select.default)
    ('mm', '_index_select')
    """
    schema = func._schema
    name, overload = schema.name.removeprefix("aten::"), schema.overload_name
    written = f"{name}_out" if any(argument.is_out for argument in schema.arguments) else name
    if name.removesuffix("_") not in STRUCTURED or overload.startswith("dtype"):  # `mm` with a dtype for its result
        return f"{overload}_{written}"
    return f"{written}_{overload}" if overload else written
