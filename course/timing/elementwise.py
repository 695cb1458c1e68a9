"""`measure_ops`: elementwise ops, where memory and not arithmetic mostly sets the time."""

from collections.abc import Sequence

import torch

from course.timing.device_lookup import find_device
from course.timing.precision import multiplying, name_of
from course.timing.stopwatch import measure
from course.traces import OpTiming

#: op -> the function, its operations a number, and how many arrays it reads and writes. A function such as exp counts
#: as one operation, as it is one to whoever calls it.
OPS = {
    "add": (lambda a, b, out: torch.add(a, b, out=out), 1, 3),
    "triad": (lambda a, b, out: torch.add(a, b, alpha=3, out=out), 2, 3),  # a + 3 b, of the STREAM benchmark
    "relu": (lambda a, b, out: torch.clamp(a, min=0, out=out), 1, 2),
    "exp": (lambda a, b, out: torch.exp(a, out=out), 1, 2),
    "sum": (lambda a, b, out: torch.sum(a), 1, 1),
}


def measure_ops(
    numbers: Sequence[int],
    device: str | torch.device = "/cpu:0",
    ops: Sequence[str] = tuple(OPS),
    dtype: str | torch.dtype = "float32",
    seconds: float = 0.1,
) -> list[OpTiming]:
    """Time elementwise ops on arrays of each of `numbers` numbers; return a list of `OpTiming`, by op.

    `ops` are names of `OPS`; results go into an array that is there already, so that no memory is asked for. `seconds`
    is spent on each figure. Raises ValueError for a device that is not here or an op that is none of these.
    """
    place = find_device(device)
    unknown = [op for op in ops if op not in OPS]
    if unknown:
        raise ValueError(f"measure_ops(ops={list(ops)}): {unknown[0]!r} is none of {', '.join(OPS)}.")
    with multiplying(dtype, place) as number:
        return [_one(op, count, place, number, seconds) for op in ops for count in numbers]


def _one(op, count, place, number, seconds):
    function, flops, arrays = OPS[op]
    a, b, out = (torch.ones(count, dtype=number, device=place.device) for _ in range(3))
    timing = measure(function, a, b, out, device=place.device, seconds=seconds)
    return OpTiming(
        op,
        numbers=count,
        flops=flops * count,
        nbytes=arrays * count * number.itemsize,
        threads=timing.threads,
        dtype=name_of(number),
        **place.row(timing),
    )
