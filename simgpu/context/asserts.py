"""What CUDA's kernels assert of the values they read: indices, classes, probabilities.

The CPU's ops check them and raise at once. CUDA's host doesn't know them: its kernel asserts, and the error is raised
when the host next waits. So when an op of the CPU has raised, its arguments are checked here: a value that a kernel
would refuse is replaced by a legal one, and the op runs again. Its result then means nothing.

The assertions are those of aten/src/ATen/native/cuda: IndexKernel.cu, Indexing.cu, ScatterGatherKernel.cu, Loss.cu,
NLLLoss2d.cu, EmbeddingBag.cu, MaxUnpooling.cu, Distributions.cu, MultinomialKernel.cu, TensorCompare.cu.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

_aten = torch.ops.aten
_BETWEEN = '`idx_dim >= 0 && idx_dim < index_size && "index out of bounds"`'
_WRAPPED = '`-sizes[i] <= index && index < sizes[i] && "index out of bounds"`'
_TAKEN = '`idx < numel && idx >= -numel && "cuda_take_put_kernel() index out of bounds"`'
_PROBABILITIES = "`probability tensor contains either `inf`, `nan` or element < 0`"
_MASKS = (torch.uint8, torch.bool)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class Failed(NamedTuple):
    """An assertion that failed, in words, and what stands in the place of the op's plain arguments."""

    words: str
    args: list


def failed(name: str, args: list) -> Failed | None:
    """Return the `Failed` of the op `name` (one of `ASSERTING`) on plain arguments, None where it takes them.

    Nothing is changed.
    """
    failure = _CHECKS[name](args)
    if failure is None:
        return None
    words, position, value = failure
    return Failed(f"{name}: {words}", [*args[:position], value, *args[position + 1 :]])


def is_mask(index: Any) -> bool:
    """Return whether an index of `tensor[index]` chooses by True and False: its result's size depends on them."""
    return isinstance(index, Tensor) and index.dtype in _MASKS


def _outside(index, low, high):
    """Return the first number of a plain integer tensor below `low` or from `high` on, and it with zeros for those."""
    if index.is_meta or not index.numel() or index.dtype not in _INTEGERS:
        return None
    least, most = _aten.aminmax.default(index)
    least, most = least.item(), most.item()
    if least >= low and most < high:
        return None
    bad = _aten.logical_or.default(_aten.lt.Scalar(index, low), _aten.ge.Scalar(index, high))
    return (least if least < low else most), _aten.masked_fill.Scalar(index, bad, 0)


def _out_of_range(assertion, number, high, noun="index"):
    legal = f"0 to {high - 1} are there" if high > 0 else "none is there"
    return f"Assertion {assertion} failed: {noun} {number}, where {legal}."


def _index(position: int, assertion: str, size: Callable[[list], int | None], negative: bool = False) -> Callable:
    """Return the check of an op whose argument at `position` counts from 0, or from the end, up to `size(args)`."""

    def check(args):
        index = args[position] if len(args) > position else None
        if not isinstance(index, Tensor):
            return None
        high = size(args)
        outside = None if high is None else _outside(index, -high if negative else 0, high)
        return outside and (_out_of_range(assertion, outside[0], high), position, outside[1])

    return check


def _along(args):
    """Return the size of the first argument along the dimension that is the second."""
    return _size(args[0], args[1]) if args[0].dim() else 1


def _rows(args):
    return _size(args[0], 0)


def _size(tensor, dim):
    """Return the size along `dim`, None where there is no such dimension: the op itself says so."""
    return tensor.shape[dim] if -tensor.dim() <= dim < tensor.dim() else None


def _indices(args):
    """Check of `index` and `index_put`: each index against its own dimension; a mask takes as many as it has."""
    if len(args) > 3 and args[3] and not (len(args) > 4 and args[4]):
        return None  # accumulating, CUDA looks at the indices on the host: the CPU's own error is right
    dim, repaired, words = 0, list(args[1]), None
    for place, index in enumerate(args[1]):
        mask = is_mask(index)
        if index is not None and not mask:
            high = _size(args[0], dim)
            outside = _outside(index, -high, high) if high else None  # of nothing: refused on the host
            if outside is not None:
                repaired[place] = outside[1]
                words = words or _out_of_range(_WRAPPED, outside[0], high, f"in dimension {dim} index")
        dim += index.dim() if mask else 1
    return words and (words, 1, repaired)


def _classes(position):
    """Return the check of a loss whose target at `position` has a class each, or the index to ignore."""
    ignored_at = position + 3

    def check(args):
        scores, target = args[position - 1], args[position]
        classes = _size(scores, 1 if scores.dim() > 1 else 0) or 0
        ignored = args[ignored_at] if len(args) > ignored_at else -100
        looked = target
        if not 0 <= ignored < classes and not target.is_meta:
            looked = _aten.masked_fill.Scalar(target, _aten.eq.Scalar(target, ignored), 0)
        outside = _outside(looked, 0, classes)
        if outside is None:
            return None
        return _out_of_range("`t >= 0 && t < n_classes`", outside[0], classes, "class"), position, outside[1]

    return check


def _numbers(position: int, assertion: str, low: float, high: float) -> Callable:
    """Return the check of an op whose numbers at `position` have to lie from `low` to `high`."""

    def check(args):
        values = args[position] if len(args) > position else None
        if not isinstance(values, Tensor) or values.is_meta or not values.numel() or values.is_complex():
            return None
        least, most = (bound.item() for bound in _aten.aminmax.default(values))
        if least >= low and most <= high:  # not so for NaN
            return None
        wrong = most if least >= low else least
        repaired = _aten.clamp.default(_aten.nan_to_num.default(values, 0.0), low, None if high == math.inf else high)
        return f"Assertion {assertion} failed: it is {wrong}.", position, repaired

    return check


def _multinomial(args):
    weights = args[0]
    if weights.is_meta or not weights.numel():
        return None
    least, most = (bound.item() for bound in _aten.aminmax.default(weights))
    if not (least >= 0 and most < math.inf):
        wrong = most if least >= 0 else least
        return f"Assertion {_PROBABILITIES} failed: one is {wrong}.", 0, _aten.ones_like.default(weights)
    if _aten.amin.default(_aten.sum.dim_IntList(weights, [-1])).item() > 0:
        return None
    words = "Assertion `invalid multinomial distribution (sum of probabilities <= 0)` failed."
    return words, 0, _aten.ones_like.default(weights)


def _asserted(args):
    if args[0].is_meta or args[0].numel() != 1 or args[0].item():
        return None
    words = f": {args[1]}" if len(args) > 1 else ""
    return f"Assertion `input[0] != 0` failed{words}.", 0, _aten.ones_like.default(args[0])


_SCATTER = _index(2, _BETWEEN, _along)
_CHECKS: dict[str, Callable] = {
    **dict.fromkeys(("index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_"), _indices),
    "_unsafe_index_put": _indices,
    "embedding": _index(1, "`srcIndex < srcSelectDimSize`", _rows),
    "_embedding_bag": _index(1, "`input[emb] < numRows`", _rows),
    "_embedding_bag_forward_only": _index(1, "`input[emb] < numRows`", _rows),
    "index_select": _index(2, "`srcIndex < srcSelectDimSize`", _along),
    **dict.fromkeys(("index_add", "index_add_", "index_reduce", "index_reduce_"),
                    _index(2, "`dstIndex < dstAddDimSize`", _along)),
    **dict.fromkeys(("index_copy", "index_copy_"),
                    _index(2, '`idx >= 0 && idx < self_dim_size && "index_copy_(): index out of bounds"`', _along)),
    **dict.fromkeys(("index_fill", "index_fill_"),
                    _index(2, '`idx >= -self_dim_size && idx < self_dim_size && "index out of bounds"`', _along, True)),
    **dict.fromkeys(("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce",
                     "scatter_reduce_"), _SCATTER),
    **dict.fromkeys(("take", "put", "put_"), _index(1, _TAKEN, lambda args: args[0].numel(), True)),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _classes(1)),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), _classes(2)),
    "multi_margin_loss": _index(1, '`target_k >= 0 && target_k < dim && "target index is out of bounds"`',
                                lambda args: _size(args[0], -1)),
    **dict.fromkeys(("max_unpool2d", "max_unpool3d"),
                    _index(1, "`maxind >= 0 && maxind < outputImageSize`", lambda args: math.prod(args[2]))),
    "binary_cross_entropy": _numbers(0, "`input_val >= zero && input_val <= one`", 0, 1),
    "bernoulli": _numbers(0, "`0 <= p && p <= 1`", 0, 1),
    "bernoulli_": _numbers(1, "`0 <= p && p <= 1`", 0, 1),
    "poisson": _numbers(0, "`lambda >= 0`", 0, math.inf),
    "multinomial": _multinomial,
    "_assert_async": _asserted,
}  # fmt: skip

#: The names of the ops whose kernels assert.
ASSERTING = frozenset(_CHECKS)
