"""`measure_copies`: what it takes to move bytes, each way, from ordinary and from pinned memory."""

from collections.abc import Sequence

import torch

from course.timing.device_lookup import find_device
from course.timing.stopwatch import measure
from course.traces import CopyTiming


def measure_copies(
    sizes: Sequence[int], device: str | torch.device = "/gpu:0", seconds: float = 0.1
) -> list[CopyTiming]:
    """Time copies of each of `sizes` (bytes) on a device; return a list of `CopyTiming`.

    On a GPU: to it and from it, the host's end in pageable and in pinned memory (kept in place by the system, so that
    the GPU can fetch from it by itself). On the CPU there is nowhere to go: a copy "in memory". `seconds` is spent on
    each figure. Needs three times the largest size. Raises ValueError for a device that is not here, or a size below 1.
    """
    place = find_device(device)
    wrong = [size for size in sizes if isinstance(size, bool) or not isinstance(size, int) or size < 1]
    if wrong:
        raise ValueError(f"measure_copies(sizes={list(sizes)}): {wrong[0]!r} is no number of bytes; give 1 or more.")
    return [_one(size, place, direction, memory, seconds) for direction, memory in _ways(place) for size in sizes]


def _ways(place):
    if place.device.type == "cpu":
        return [("in memory", "pageable")]
    # Apple's GPUs share the host's memory; only CUDA has pinned memory of its own kind
    kinds = ("pageable", "pinned") if place.device.type == "cuda" else ("pageable",)
    return [(direction, kind) for direction in ("to device", "from device") for kind in kinds]


def _one(size, place, direction, memory, seconds):
    host = torch.ones(size, dtype=torch.uint8)
    if memory == "pinned":
        host = host.pin_memory()
    there = torch.ones(size, dtype=torch.uint8, device=place.device)
    source, target = (there, host) if direction == "from device" else (host, there)
    # a copy that nobody waits for is the fastest from pinned memory; measure waits for all of them at the end
    timing = measure(target.copy_, source, memory == "pinned", device=place.device, seconds=seconds)
    return CopyTiming(direction, memory, size, **place.row(timing))
