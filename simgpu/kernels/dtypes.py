"""Dtypes that CUDA's kernels take and the CPU's don't, and the other way round: tables, and what CUDA says.

The rows are those of torch's operator database (`dtypes` beside `dtypesIfCUDA`, torch 2.13); the names of the kernels
stand in ATen/native/cuda, each in a call of `AT_DISPATCH_…` or `TORCH_CHECK`.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils._pytree import tree_map

from simgpu.messages import NO_ENGINE, no_kernel, not_for_cudnn, not_implemented

_log = logging.getLogger(__name__)
_INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
_WHOLE = {*_INTEGERS, torch.bool}
_HALVES = {torch.float16, torch.bfloat16}

#: op -> the kernel by CUDA's name, and the dtypes that it lacks.
_LACKING: dict[str, tuple[str, set[torch.dtype]]] = {
    **dict.fromkeys(("mm", "addmm", "_addmm_activation", "addbmm"), ("addmm_cuda", _WHOLE)),
    **dict.fromkeys(("bmm", "baddbmm"), ("baddbmm_cuda", _WHOLE)),
    **dict.fromkeys(("mv", "addmv"), ("addmv_impl_cuda", _WHOLE)),
    "dot": ("dot", _WHOLE),
    "vdot": ("vdot", _WHOLE),
    "max_pool2d_with_indices": ("max_pool2d_with_indices_out_cuda_frame", _WHOLE),
    "max_pool3d_with_indices": ("max_pool3d_with_indices_out_frame", _WHOLE),
    "avg_pool2d": ("avg_pool2d_out_cuda_frame", _WHOLE),
    "avg_pool3d": ("avg_pool3d_out_cuda", _WHOLE),
    "upsample_bilinear2d": ("upsample_bilinear2d_out_frame", _INTEGERS),
    "upsample_bicubic2d": ("upsample_bicubic2d_out_frame", _INTEGERS),
    "_cdist_forward": ("cdist_cuda", _HALVES),
    "_pdist_forward": ("pdist_cuda", _HALVES),
    "histc": ("histc", _HALVES),
    "igamma": ("igamma_cuda", _HALVES),
    "igammac": ("igammac_cuda", _HALVES),
}
_CONVOLUTIONS = {"convolution", "_convolution"}
#: Of cuDNN's data types; there is no convolution of them.
_KNOWN_TO_CUDNN = {torch.int32, torch.uint8, torch.int8}
#: Have no kernel of CUDA's at all.
_ON_CPU_ALONE = {"histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors"}

#: op -> dtypes that CUDA's kernel takes and the CPU's doesn't: it runs in the wider one of `_WIDER`.
_BEYOND_CPU: dict[str, set[torch.dtype]] = {
    "avg_pool3d": _HALVES,
    "avg_pool3d_backward": _HALVES,
    "multi_margin_loss": _HALVES,
    "multi_margin_loss_backward": _HALVES,
    "multilabel_margin_loss_forward": _HALVES,
    "multilabel_margin_loss_backward": _HALVES,
    "_upsample_bilinear2d_aa": _HALVES,
    "_upsample_bilinear2d_aa_backward": _HALVES,
    "_upsample_bicubic2d_aa": _HALVES,
    "_upsample_bicubic2d_aa_backward": _HALVES,
    "histc": _INTEGERS,
    "abs": {torch.bool},
    "trace": {torch.bool},
}
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.bool: torch.uint8} | dict.fromkeys(
    _INTEGERS, torch.float64
)
_CPUS_WORDS = re.compile(r"\"(\w+)\" not implemented for '(\w+)'")


def refuse(name: str, qualified: str, args: Sequence) -> None:
    """Raise what CUDA raises for an op that it lacks, or lacks for the dtype of all of its tensors.

    `name` is the op's, `qualified` has its overload (`aten::histogram.bin_ct`), `args` are its plain arguments.
    """
    if name in _ON_CPU_ALONE:
        raise NotImplementedError(no_kernel(qualified))
    kernel, dtypes = _LACKING.get(name.removesuffix("_"), ("", _WHOLE if name in _CONVOLUTIONS else ()))
    if not dtypes:
        return
    taken = [value.dtype for value in args if isinstance(value, Tensor)]
    if not taken or not all(dtype in dtypes for dtype in taken):
        return
    if kernel:
        raise NotImplementedError(not_implemented(kernel, scalar_type(taken[0])))
    raise RuntimeError(NO_ENGINE if taken[0] in _KNOWN_TO_CUDNN else not_for_cudnn(scalar_type(taken[0])))


def in_wider(func: OpOverload, name: str, args: Sequence, kwargs: Mapping, refusal: str) -> Any:
    """Return what `func`, which the CPU has not for a dtype, gives in a wider one, where CUDA has it for that dtype.

    Where CUDA lacks it, too, raises `refusal`, the CPU's, by the name of CUDA's kernel. Returns None if that is no
    refusal of a dtype.
    """
    dtype = next((value.dtype for value in args if isinstance(value, Tensor)), None)
    if dtype is not None and dtype in _BEYOND_CPU.get(name.removesuffix("_"), ()):
        wider = _WIDER[dtype]
        _note_fallback(name, dtype, wider)
        taken, options = _cast(list(args), dtype, wider), _cast(dict(kwargs), dtype, wider)
        result = func(*taken, **options)
        for place, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:  # `out=`, `abs_`
                if place < len(args):
                    _write(args[place], taken[place])
                else:
                    _write(kwargs[argument.name], options[argument.name])
        return _cast(result, wider, dtype)
    words = _CPUS_WORDS.fullmatch(refusal)
    if words is None:
        return None
    refuse(name, name, args)
    raise NotImplementedError(not_implemented(words[1].replace("_cpu", "_cuda"), words[2])) from None


@cache  # once for each op and dtype in a process
def _note_fallback(name, dtype, wider):
    _log.info("%s of %s runs in %s: this CPU has no kernel for it, CUDA has", name, dtype, wider)


def _write(own, result):
    own.resize_(result.shape).copy_(result)


def _cast(values, narrow, wanted):
    return tree_map(
        lambda value: value.to(wanted) if isinstance(value, Tensor) and value.dtype is narrow else value, values
    )


def scalar_type(dtype: torch.dtype) -> str:
    """Return the name that C++ has for a dtype.

    >>> scalar_type(torch.int64)
    'Long'
    """
    return torch.empty(0, dtype=dtype, device="cpu").type().removeprefix("torch.").removesuffix("Tensor")
