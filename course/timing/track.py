"""An op's track under the roof: for each size its intensity, the speed it reaches, and what holds it back there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from course.devices.simulated import model_for
from course.timing.roofline import Roofline, roofline
from course.timing.stopwatch import measure
from course.traces import Trace, load_trace
from simgpu import Work
from simgpu.models.device_model import BYTES

SIZES = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1500, 2048, 3000, 4500)
MEASURED_UP_TO = 2048  # a larger product takes a small CPU seconds


@dataclass(frozen=True)
class SizedOp:
    """An op on float32 matrices of n × n: its `flops` and `nbytes` for a size, and `run` on two such matrices."""

    name: str
    flops: Callable[[int], int]
    nbytes: Callable[[int], int]
    run: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


OPS = {
    op.name: op
    for op in (
        SizedOp("matrix @ matrix", lambda n: 2 * n**3, lambda n: 12 * n**2, torch.mm),
        SizedOp("matrix @ vector", lambda n: 2 * n**2, lambda n: 4 * (n**2 + 2 * n), lambda a, b: torch.mv(a, b[0])),
        SizedOp("matrix + matrix", lambda n: n**2, lambda n: 12 * n**2, torch.add),
    )
}


@dataclass(frozen=True)
class Stop:
    """The op at one `size`: `intensity` in operations a byte, `speed` in operations a second, None where not known.

    `limit` is what holds it back: "memory" or "arithmetic" by the roof, "launch" where starting the op takes longest.
    """

    size: int
    intensity: float
    speed: float | None
    limit: str


@dataclass(frozen=True)
class Track:
    """The stops of the op called `op`, a size each, under the `roof` of one device."""

    op: str
    roof: Roofline
    stops: tuple[Stop, ...]

    def at(self, size: int) -> Stop:
        """Return the `Stop` of `size`."""
        return next(stop for stop in self.stops if stop.size == size)


def modelled_track(op: str, model: str = "H200", dtype: str = "float32") -> Track:
    """Return the `Track` of the op named `op` (see `OPS`) on a GPU of `model`, after its data sheet, in `dtype`.

    Raises ValueError for a dtype that the sheet does not list.
    """
    gpu, sized = model_for(model), OPS[op]
    if dtype not in gpu.peak:
        raise ValueError(f"modelled_track(dtype={dtype!r}): the {model} sheet lists {', '.join(gpu.peak)}. Use one.")
    roof = Roofline("/gpu:0", dtype, gpu.peak[dtype], gpu.memory_bandwidth, "modelled", gpu.origin)
    stops = []
    for n in SIZES:
        work = Work(sized.flops(n), sized.nbytes(n) * BYTES[dtype] // BYTES["float32"], dtype)
        intensity, seconds = work.flops / work.bytes, gpu.seconds(work)
        limit = "launch" if gpu.launch > seconds else roof.limit(intensity)
        stops.append(Stop(n, intensity, work.flops / max(gpu.launch, seconds), limit))
    return Track(op, roof, tuple(stops))


def recorded_track(op: str, trace: str) -> Track:
    """Return the `Track` of the op named `op` in the recorded `trace`; only products have speeds, other ops none."""
    recorded = load_trace(trace)
    if not isinstance(recorded, Trace):
        raise ValueError(f"recorded_track(trace={trace!r}): that is a data sheet; use modelled_track.")
    products = {t.size: t.flops / t.compute for t in recorded.matmul if t.dtype == "float32"}
    return track_of(op, roofline(recorded), products if op == "matrix @ matrix" else {})


def track_of(op: str, roof: Roofline, speeds: Mapping[int, float | None]) -> Track:
    """Return the `Track` of the op named `op` under `roof`, with `speeds`: size -> operations a second."""
    sized, stops = OPS[op], []
    for n in SIZES:
        intensity = sized.flops(n) / sized.nbytes(n)
        stops.append(Stop(n, intensity, speeds.get(n), roof.limit(intensity)))
    return Track(op, roof, tuple(stops))


def measured_speed(op: str, size: int, seconds: float = 0.2) -> float | None:
    """Return the operations a second that the op named `op` reaches at `size` on this CPU, in about `seconds`.

    None for sizes above `MEASURED_UP_TO`.
    """
    if size > MEASURED_UP_TO:
        return None
    sized, (a, b) = OPS[op], torch.rand(2, size, size)
    return sized.flops(size) / measure(sized.run, a, b, seconds=seconds).median
