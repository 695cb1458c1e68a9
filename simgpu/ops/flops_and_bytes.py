"""The work of an op: floating-point operations by torch's own formulas, bytes by what it reads and writes.

Products, convolutions and attention, forward and backward, are counted by `torch.utils.flop_counter`. Every other op is
taken to do one operation an element and to be bound by memory: it reads its inputs and writes its results, once. Views,
metadata and `empty` cost nothing. Counted in about 3 µs an op.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils.flop_counter import flop_registry

from simgpu.models.op_seconds import Work

NOTHING = Work(0, 0)
_aten = torch.ops.aten
_FREE = {
    getattr(_aten, name)
    for name in "empty empty_like empty_strided empty_permuted new_empty new_empty_strided _unsafe_view resize_ set_ "
    "_local_scalar_dense sym_size sym_stride sym_numel sym_storage_offset is_same_size record_stream".split()
}
# Their target is written and not read.
_OVERWRITES = {
    getattr(_aten, name)
    for name in "fill_ zero_ copy_ normal_ uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_".split()
}
# They read as many elements as they give, however large the table is; or write as many as they are given.
_PICKS = {_aten.embedding, _aten.index_select, _aten.index, _aten.gather, _aten.take}
_PUTS = {_aten.index_put_, _aten.scatter_, _aten.scatter_add_, _aten.index_add_, _aten.index_copy_, _aten.index_fill_}
_CONVOLUTIONS = {_aten.convolution, _aten._convolution, _aten.convolution_backward, _aten._slow_conv2d_forward}
# Torch has no formula of their own for products in place and for the CPU's own attention: (it, its like, which argument
# its queries are).
_LIKE = {"addmm_": "addmm", "baddbmm_": "baddbmm", "_addmm_activation": "addmm"}
_ATTENTION = [
    ("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention", 0),
    ("_scaled_dot_product_flash_attention_for_cpu_backward", "_scaled_dot_product_flash_attention_backward", 1),
]


def _layer(x, weights, recurrent, *rest, out_val=None):
    """Operations of the CPU's own LSTM layer: two products for each of the steps of each of the sequences."""
    return 2 * x.shape[0] * x.shape[1] * (weights.numel() + recurrent.numel())


def _of_all_heads(formula, at):
    """Return the `formula` of an attention whose query is argument `at`, for keys and values of fewer heads, too.

    Each head of theirs meets several of the query's. Torch 2.11's own formula refuses that.
    """

    def operations(*args, **kwargs):
        *first, key, value = args[: at + 3]
        heads = args[at].shape[1]
        shapes = [(part.shape[0], heads, *part.shape[2:]) for part in (key, value)]
        return formula(*first, *shapes, *args[at + 3 :], **kwargs)

    return operations


_FORMULAS = {
    **{packet: formula for packet, formula in flop_registry.items() if hasattr(packet, "default")},
    **{getattr(_aten, name): flop_registry[getattr(_aten, like)] for name, like in _LIKE.items()},
    **{getattr(_aten, name): _of_all_heads(flop_registry[getattr(_aten, like)], at) for name, like, at in _ATTENTION},
    _aten.mkldnn_rnn_layer: _layer,
    _aten.mkldnn_rnn_layer_backward: lambda *args, out_val=None: 2 * _layer(*args),
}

_how: dict[OpOverload, Callable[..., Work]] = {}  # op -> the function below that counts it
_counted: dict[tuple, Work] = {}  # (op, shapes, settings, dtype) -> `Work`
_names: dict[torch.dtype, str] = {}  # torch.float32 -> "float32"


def work_of(func: OpOverload, args: Sequence, kwargs: Mapping, result: Any) -> Work:
    """Return the `Work` of the op `func` (an `OpOverload`) on `args` and `kwargs`, which gave `result`.

    Plain or simulated tensors, also in lists. Nothing is changed.

    >>> a = torch.ones(8, 8)
    >>> work_of(torch.ops.aten.mm.default, (a, a), {}, a @ a)
    Work(flops=1024, bytes=768, dtype='float32')
    """
    count = _how.get(func)
    if count is None:
        count = _how[func] = _counter_of(func)
    return NOTHING if count is _nothing else count(func, args, kwargs, result)


def _counter_of(func):
    packet = func.overloadpacket
    if func.is_view or packet in _FREE:
        return _nothing
    if packet in _FORMULAS:
        return _by_formula
    if packet in _OVERWRITES:
        return _overwriting
    if packet in _PICKS:
        return _picking
    return _putting if packet in _PUTS else _elementwise


def _nothing(func, args, kwargs, result):
    return NOTHING


def _by_formula(func, args, kwargs, result):
    key = (func, *map(_shape, args), *map(_shape, kwargs.values()), _precision(func, result, args))
    work = _counted.get(key)
    if work is None:
        if len(_counted) > 4096:  # a program whose shapes never repeat must not fill the memory
            _counted.clear()
        flops = _FORMULAS[func.overloadpacket](*args, **kwargs, out_val=result)
        work = _counted[key] = Work(flops, _sizes(args, result)[0], key[-1])
    return work


def _elementwise(func, args, kwargs, result):
    size, elements, dtype = _sizes(args, result)
    return Work(elements, size, _name(dtype))


def _overwriting(func, args, kwargs, result):
    size, elements, dtype = _sizes(args[1:], result)
    return Work(0, size, _name(dtype))


def _picking(func, args, kwargs, result):
    size, _, dtype = _sizes((), result)
    return Work(0, 2 * size, _name(dtype))


def _putting(func, args, kwargs, result):
    size, _, dtype = _sizes(args[1:], None)
    return Work(0, 2 * size, _name(dtype))


def _sizes(args, result):
    """Return the bytes of all tensors, the elements of the largest, and the dtype of the result or the first tensor."""
    size, elements, dtype = 0, 0, None
    for value in (result, *args):
        if isinstance(value, torch.Tensor):
            if value.layout is torch.sparse_coo:
                value = value._values()
            more, count, sort = value.nbytes, value.numel(), value.dtype
        elif isinstance(value, (list, tuple)):
            more, count, sort = _sizes(value, None)
        else:
            continue
        size += more
        elements = max(elements, count)
        dtype = dtype or sort
    return size, elements, dtype


def _name(dtype):
    name = _names.get(dtype)
    if name is None:
        name = _names[dtype] = str(dtype).removeprefix("torch.")
    return name


def _shape(value):
    """Return what a formula can depend on, as part of a key: a tensor's shape, or a setting such as a stride."""
    if isinstance(value, torch.Tensor):
        return value.shape
    return tuple(map(_shape, value)) if isinstance(value, (list, tuple)) else value


def _precision(func, result, args):
    """Return the name of the dtype in which a GPU would multiply: TF32 for float32 where torch's switch says so."""
    name = _name((result if isinstance(result, torch.Tensor) else args[0]).dtype)
    if name != "float32":
        return name
    backend = torch.backends.cudnn.conv if func.overloadpacket in _CONVOLUTIONS else torch.backends.cuda.matmul
    return "tfloat32" if backend.fp32_precision == "tf32" else name
