"""The mean of an array in slices. Each slice answers with its sum and its size, because a mean alone has no weight."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from numbers import Integral
from typing import Any

import numpy as np

from course.compiled import usual_threads
from course.mapreduce.chunks import float32_sum
from course.mapreduce.engine import map_reduce


@dataclass(frozen=True)
class PartSum:
    """The answer of a slice: the `total` of its `count` numbers. `a + b` joins the answers of two slices."""

    total: float
    count: int

    @property
    def mean(self) -> float:
        """The mean of these numbers; nan when there are none."""
        return self.total / self.count if self.count else float("nan")

    def __add__(self, other: "PartSum") -> "PartSum":
        return PartSum(self.total + other.total, self.count + other.count)


def mean(data: Any, parts: int | Sequence[int] = 1, executor: Executor | None = None) -> float:
    """Return the mean of all numbers in `data` as a float, worked out slice by slice.

    `data`: a numpy array, torch tensor (any device; moved to the CPU) or sequence of real numbers, of any shape, read
    in C order and never changed. `parts`: the number of equal slices, or their sizes, which must add up to the size of
    `data`; slices of unequal size count by their size, an empty one not at all. `executor` as for `map_reduce`: each
    slice is sent to where it is added up, on one thread, and two numbers come back. Without one, large float32 data
    are added up here on as many threads as torch uses (`torch.set_num_threads`); that can't change the answer.

    Floats are added in float64, so float32 data near 10⁸ keeps its noise, and the sums of the slices by a tree, as
    `map_reduce` does when `associative`; integers are added exactly. A nan gives nan, an inf gives inf, inf with -inf
    gives nan; a sum past 1.8e308 is inf. Raises ValueError for no numbers and for parts that don't fit, TypeError for
    data that aren't real numbers.

    >>> mean([1, 2, 3, 10], parts=[3, 1])
    4.0
    """
    values = _as_array(data)
    if values.size == 0:
        raise ValueError("mean(data): it has no numbers, and no numbers have no mean. Give at least one.")
    pieces = slices(values, parts)
    add_up = part_sum if executor is not None else partial(part_sum, threads=usual_threads())
    return map_reduce(add_up, PartSum.__add__, pieces, executor, associative=True).mean


def slices(data: Any, parts: int | Sequence[int]) -> list[Any]:
    """Return one-dimensional `data` cut in `parts`: a number of slices of (almost) equal size, or the list of sizes.

    >>> slices([1, 2, 3, 4, 5], 2)
    [[1, 2, 3], [4, 5]]
    """
    size = len(data)
    if isinstance(parts, Integral) and not isinstance(parts, bool):
        if parts < 1:
            raise ValueError(
                f"mean(parts={parts}): the number of slices is 1 or more; or give their sizes, as [90, 10]."
            )
        count = int(parts)
        sizes = [size // count + (index < size % count) for index in range(count)]
    else:
        sizes = _sizes(parts, size)
    return [data[start:end] for start, end in pairwise([0, *accumulate(sizes)])]


def part_sum(values: Any, threads: int = 1) -> PartSum:
    """Return the `PartSum` of a numpy array or sequence: floats added in float64, integers without any rounding.

    `threads`: on how many to add up large float32 data; it can't change the answer.
    """
    values = _as_array(values)
    if values.dtype == np.float32:
        return PartSum(float32_sum(values, threads), values.size)
    if values.dtype.kind == "f":
        return PartSum(float(values.sum(dtype=np.float64)), values.size)
    if values.dtype.itemsize == 8:  # these could overflow when added: their high and their low halves can't
        high, low = values >> 32, values & 0xFFFFFFFF
        return PartSum((int(high.sum()) << 32) + int(low.sum()), values.size)
    return PartSum(int(values.sum(dtype=np.int64)), values.size)


def _as_array(data):
    if hasattr(data, "detach"):  # a torch tensor, looked at without importing torch
        data = data.detach().cpu()
        data = data.float() if str(data.dtype) == "torch.bfloat16" else data  # numpy has no bfloat16
        data = data.numpy()
    values = np.asarray(data)
    if values.dtype.kind not in "fiub":
        raise TypeError(
            f"mean(data): numbers of type {values.dtype} have no mean here; give real numbers (int or float)."
        )
    return values.ravel()


def _sizes(parts, size):
    try:
        sizes = [int(part) for part in parts]
        whole = all(part == length for part, length in zip(parts, sizes, strict=True))
        fit = whole and min(sizes) >= 0 and sum(sizes) == size
    except (TypeError, ValueError, OverflowError):  # min's too, where there are none
        fit = False
    if not fit:
        half = size // 2
        raise ValueError(
            f"mean(parts={parts!r}): give a number of slices, or sizes (0 or more) that add up to the {size} numbers "
            f"of data, as {[size - half, half]}."
        )
    return sizes
