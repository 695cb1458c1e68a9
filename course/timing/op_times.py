"""`measure_copies`, `measure_ops`, `measure_life`: the rows of a trace besides its products; `seconds` go on each."""

from collections.abc import Sequence
from typing import Any

import torch

from course import life
from course.timing.device_lookup import Place, find_device
from course.timing.precision import multiplying, name_of
from course.timing.stopwatch import Timing, measure
from course.traces import CopyTiming, LifeTiming, OpTiming

#: op -> the function, its operations a number, and how many arrays it reads and writes. A function such as exp counts
#: as one operation, as it is one call.
OPS = {
    "add": (lambda a, b, out: torch.add(a, b, out=out), 1, 3),
    "triad": (lambda a, b, out: torch.add(a, b, alpha=3, out=out), 2, 3),  # a + 3 b, of the STREAM benchmark
    "relu": (lambda a, b, out: torch.clamp(a, min=0, out=out), 1, 2),
    "exp": (lambda a, b, out: torch.exp(a, out=out), 1, 2),
    "sum": (lambda a, b, out: torch.sum(a), 1, 1),
}
GENERATIONS = 8  # in one call: the packed engine's own number, so that it doesn't pack for less


def measure_copies(
    sizes: Sequence[int], device: str | torch.device = "/gpu:0", seconds: float = 0.1
) -> list[CopyTiming]:
    """Time copies of each of `sizes` (bytes) on a device; return a list of `CopyTiming`.

    On a GPU: to it and from it, the host's end in pageable and in pinned memory (kept in place by the system, so that
    the GPU can fetch from it by itself). On the CPU there is nowhere to go: a copy "in memory". Needs three times the
    largest size. Raises ValueError for a device that is not here, or a size below 1.
    """
    place = find_device(device)
    wrong = [size for size in sizes if isinstance(size, bool) or not isinstance(size, int) or size < 1]
    if wrong:
        raise ValueError(f"measure_copies(sizes={list(sizes)}): {wrong[0]!r} is no number of bytes; give 1 or more.")
    return [_copy(size, place, direction, memory, seconds) for direction, memory in _ways(place) for size in sizes]


def _ways(place):
    """Return pairs of direction and memory."""
    if place.device.type == "cpu":
        return [("in memory", "pageable")]
    # Apple's GPUs share the host's memory; only CUDA has pinned memory of its own kind
    kinds = ("pageable", "pinned") if place.device.type == "cuda" else ("pageable",)
    return [(direction, kind) for direction in ("to device", "from device") for kind in kinds]


def _copy(size, place, direction, memory, seconds):
    host = torch.ones(size, dtype=torch.uint8)
    if memory == "pinned":
        host = host.pin_memory()
    on_device = torch.ones(size, dtype=torch.uint8, device=place.device)
    source, target = (on_device, host) if direction == "from device" else (host, on_device)
    # a copy that nobody waits for is the fastest from pinned memory; measure waits for all of them at the end
    timing = measure(target.copy_, source, memory == "pinned", device=place.device, seconds=seconds)
    return CopyTiming(direction, memory, size, **_row(place, timing))


def measure_ops(
    numbers: Sequence[int],
    device: str | torch.device = "/cpu:0",
    ops: Sequence[str] = tuple(OPS),
    dtype: str | torch.dtype = "float32",
    seconds: float = 0.1,
) -> list[OpTiming]:
    """Time elementwise ops on arrays of each of `numbers` numbers; return a list of `OpTiming`, by op.

    Memory and not arithmetic mostly sets the time. `ops` are names of `OPS`; results go into an array that is there
    already, so that no memory is asked for. Raises ValueError for a device that is not here or an op of another name.
    """
    place = find_device(device)
    unknown = [op for op in ops if op not in OPS]
    if unknown:
        raise ValueError(f"measure_ops(ops={list(ops)}): {unknown[0]!r} is none of {', '.join(OPS)}.")
    with multiplying(dtype, place) as number:
        return [_op(op, count, place, number, seconds) for op in ops for count in numbers]


def _op(op, count, place, number, seconds):
    function, flops, arrays = OPS[op]
    a, b, out = (torch.ones(count, dtype=number, device=place.device) for _ in range(3))
    timing = measure(function, a, b, out, device=place.device, seconds=seconds)
    work = {"flops": flops * count, "nbytes": arrays * count * number.itemsize}
    return OpTiming(op, count, **work, threads=timing.threads, dtype=name_of(number), **_row(place, timing))


def measure_life(
    sides: Sequence[int],
    device: str | torch.device = "/cpu:0",
    engines: Sequence[str] | None = None,
    seconds: float = 0.1,
) -> list[LifeTiming]:
    """Time `GENERATIONS` of a half-full square board of each of `sides`, by engine; return a list of `LifeTiming`.

    `engines` are names of `life.ENGINES`, by default all those that run on the device: the packed ones are for the CPU
    only. Raises ValueError for a device that is not here or an unknown engine.
    """
    place = find_device(device)
    if engines is None:
        engines = [name for name in life.ENGINES if not name.startswith("packed") or place.device.type == "cpu"]
    return [_life(engine, side, place, seconds) for engine in engines for side in sides]


def _life(engine, side, place, seconds):
    board = life.random_board(side, side, generator=torch.Generator().manual_seed(side)).to(place.device)
    timing = measure(life.run, board, GENERATIONS, engine, seconds=seconds, at_least=1)
    return LifeTiming(engine, side, side, GENERATIONS, threads=timing.threads, **_row(place, timing))


def _row(place: Place, timing: Timing) -> dict[str, Any]:
    """Return what every row of a trace says of a `timing` on `place`, by the names of its fields."""
    row = {"device": place.name, "seconds": timing.median, "iqr": timing.iqr, "repeats": timing.repeats}
    return {**row, "kind": place.kind, "origin": place.origin}
