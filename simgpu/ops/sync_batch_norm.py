"""Batch normalisation over several processes, which torch has for GPUs alone: `nn.SyncBatchNorm` calls these ops.

Formulas of aten/src/ATen/native/cuda/Normalization.cuh: sums are float32 for half types, a variance is biased, that of
the running statistics is not.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def kernels() -> Iterator[None]:
    """Within the `with`, the ops run on the numbers of simulated tensors."""
    library = torch.library.Library("aten", "IMPL")
    try:
        for function in (stats, gather_stats_with_counts, elemt, backward_reduce, backward_elemt):
            library.impl(f"batch_norm_{function.__name__}", function, "CPU")
        yield
    finally:
        library._destroy()


def stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return mean and 1 / sqrt(variance + `eps`) of each channel, shape (C,), of `input` (N, C, …)."""
    variance, mean = torch.var_mean(_sums_in(input), _others(input), correction=0)
    return mean, (variance + eps).rsqrt()


def gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the statistics of all processes' elements from those of each, (W, C), and their `counts`, (W,).

    Updates `running_mean` and `running_var`.
    """
    counts = counts.to(mean.dtype)[:, None]
    count = counts.sum()
    joined = (counts * mean).sum(0) / count
    squares = (counts * (invstd**-2 - eps + (mean - joined) ** 2)).sum(0)
    for running, new in ((running_mean, joined), (running_var, squares / (count - 1))):
        if running is not None:
            running.mul_(1 - momentum).add_(momentum * new)
    return joined, (squares / count + eps).rsqrt()


def elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """Return `input` (N, C, …) normalised by the statistics (C,), scaled by `weight` and moved by `bias`."""
    out = (_sums_in(input) - _along(mean, input)) * _along(invstd, input)
    out = out if weight is None else out * _along(weight, input)
    out = out if bias is None else out + _along(bias, input)
    return out.to(input.dtype)


def backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Return the channels' sums of the gradient and of gradient × distance from the mean, and weight's and bias's."""
    grad = _sums_in(grad_out)
    sum_dy = grad.sum(_others(input))
    sum_dy_xmu = (grad * (_sums_in(input) - _along(mean, input))).sum(_others(input))
    kind = sum_dy.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(kind) if weight_g else None
    grad_bias = sum_dy.to(kind, copy=True) if bias_g else None
    return sum_dy if input_g else None, sum_dy_xmu if input_g else None, grad_weight, grad_bias


def backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """Return the gradient of `input` from the sums over all processes, whose elements are `count`, (W,)."""
    total = count.sum()
    slope = _along(invstd**2 * sum_dy_xmu / total, input)
    grad = _sums_in(grad_out) - _along(sum_dy / total, input) - (_sums_in(input) - _along(mean, input)) * slope
    scale = invstd if weight is None else invstd * weight
    return (grad * _along(scale, input)).to(input.dtype)


def _others(input):
    return [dim for dim in range(input.dim()) if dim != 1]


def _along(channels, input):
    return channels.view(1, -1, *[1] * (input.dim() - 2))


def _sums_in(tensor):
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
