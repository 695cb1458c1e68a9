"""`roofline(device)`: the two limits of a device, and which of them an op meets.

A device can do no more operations a second than its peak, and no more than its memory feeds it: bandwidth times the
operations done for each byte. The lower of the two is the roof (Williams, Waterman and Patterson, 2009).
"""

from dataclasses import dataclass

import torch

from course.timing.device_lookup import find_device
from course.timing.precision import multiplying
from course.timing.stopwatch import Timing, measure
from course.traces import DataSheet, Trace
from course.traces.measured_or_modelled import Figure


@dataclass(frozen=True)
class Roofline(Figure):
    """The limits of `device` in `dtype`: `peak` operations a second, `bandwidth` bytes a second; a `Figure`."""

    device: str
    dtype: str
    peak: float
    bandwidth: float
    kind: str = "measured"
    origin: str = ""

    @property
    def ridge(self) -> float:
        """The intensity (operations a byte) from which arithmetic is the limit; below it, memory is."""
        return self.peak / self.bandwidth

    def bound(self, intensity: float) -> float:
        """Return the most operations a second that an op of `intensity` operations a byte can reach.

        >>> roof = Roofline("/cpu:0", "float32", peak=100e9, bandwidth=20e9)
        >>> roof.ridge, roof.bound(0.5) / 1e9, roof.bound(250) / 1e9
        (5.0, 10.0, 100.0)
        """
        return min(self.peak, self.bandwidth * intensity)

    def limit(self, intensity: float) -> str:
        """Return what limits an op of `intensity`: "memory" or "arithmetic"."""
        return "memory" if intensity < self.ridge else "arithmetic"


@dataclass(frozen=True)
class Point:
    """An op under the roof: `intensity` in operations a byte, `speed` in operations a second; where that is from."""

    label: str
    intensity: float
    speed: float
    kind: str = "measured"
    origin: str = ""

    @classmethod
    def of(cls, label: str, timing: Timing, flops: float, nbytes: float) -> "Point":
        """Return the point of an op of `flops` operations on `nbytes` bytes, whose `Timing` is `timing`."""
        return cls(label, flops / nbytes, flops / timing.median, timing.kind, timing.origin)


def roofline(
    device: str | torch.device | DataSheet | Trace = "/cpu:0", dtype: str = "float32", seconds: float = 1.0
) -> Roofline:
    """Return the `Roofline` of a device of this machine, measured, or of a `DataSheet` or `Trace`, without measuring.

    - `device`: a name, a `torch.device`, a `DataSheet` (modelled) or a `Trace` (recorded); a device of `simulated_gpus`
      gives the model's figures.
    - `seconds`: about how long to measure, half on products, half on memory; needs 250 MB.

    The peak is the fastest of large products, the bandwidth the fastest of `a + 3 * b` on arrays larger than a cache,
    counted as two reads and one write. Raises ValueError for a device that is not here, or a dtype it has no figure of.
    """
    if isinstance(device, DataSheet):
        return _from_peaks(device, "/gpu:0", dtype, "modelled", device.origin)
    if isinstance(device, Trace):
        return _from_trace(device, dtype)
    place = find_device(device)
    if place.simulation:
        return _from_peaks(place.simulation.model, place.name, dtype, place.kind, place.origin)
    with multiplying(dtype, place) as number:
        peak = max(_product_speed(n, number, place.device, seconds / 4) for n in _sizes(place))
        bandwidth = _memory_speed(number, place.device, seconds / 2)
    return Roofline(place.name, dtype, peak, bandwidth, place.kind, place.origin)


def _sizes(place):
    return (1024, 2048) if place.device.type == "cpu" else (4096, 8192)


def _product_speed(n, number, device, seconds):
    a, b = (torch.rand(n, n, device=device).to(number) for _ in range(2))
    return 2 * n**3 / measure(torch.mm, a, b, seconds=seconds).times[0]


def _memory_speed(number, device, seconds):
    count = (64 if device.type == "cpu" else 512) * 2**20 // number.itemsize  # 64 MiB each: larger than a core's share
    a, b, c = (torch.ones(count, dtype=number, device=device) for _ in range(3))
    timing = measure(lambda: torch.add(a, b, alpha=3, out=c), device=device, seconds=seconds)
    return 3 * count * number.itemsize / timing.times[0]


def _from_peaks(figures, name, dtype, kind, origin):
    if dtype not in figures.peak:
        legal = ", ".join(figures.peak)
        raise ValueError(f"roofline(dtype={dtype!r}): {figures.hardware} has figures of {legal}. Use one of these.")
    return Roofline(name, dtype, figures.peak[dtype], figures.memory_bandwidth, kind, origin)


def _from_trace(trace, dtype):
    products = [t for t in trace.matmul if t.dtype == dtype]
    # what is small lies in a cache, so only the largest rows tell of memory; a copy in memory reads and writes
    moved = [(op.nbytes, op.bandwidth) for op in trace.ops]
    moved += [(2 * c.nbytes, 2 * c.bandwidth) for c in trace.copies if c.direction == "in memory"]
    if not products or not moved:
        raise ValueError(
            f"roofline(device=<trace {trace.name!r}>, dtype={dtype!r}): it has {len(products)} such products and "
            f"{len(moved)} rows of memory, and needs both. Record it again with course.timing.record_trace(...)."
        )
    largest = max(nbytes for nbytes, _ in moved)
    bandwidth = max(speed for nbytes, speed in moved if nbytes > largest / 2)
    peak = max(t.flops / t.compute for t in products)
    return Roofline(products[0].device, dtype, peak, bandwidth, "recorded", trace.origin)
