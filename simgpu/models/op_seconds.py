"""How long an op takes on a card, in modelled seconds: what it asks for, divided by the card's speeds.

`simgpu.ops.flops_and_bytes` counts what an op asks for; `simgpu.clock` says when a card comes to it.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

#: dtype name -> bytes a number. "tfloat32" is float32 multiplied by tensor cores, stored like float32.
BYTES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2}


class Work(NamedTuple):
    """What an op asks of a device: `flops` floating-point operations in `dtype`, `bytes` read and written.

    A named tuple, as one is made for every op and a frozen dataclass would take three times as long.
    """

    flops: float = 0
    bytes: float = 0
    dtype: str = "float32"


class Speeds(Protocol):
    """What is read of a card, a `DeviceModel`."""

    @property
    def shortest_kernel(self) -> float:
        """Seconds of an op, however small."""

    @property
    def memory_bandwidth(self) -> float:
        """Bytes a second."""

    @property
    def half_size(self) -> Mapping[str, float]:
        """dtype name -> the size n at which an n × n product reaches half of the peak."""

    def rate(self, dtype: str) -> float:
        """Return the peak operations a second in `dtype`."""


def op_seconds(work: Work, card: Speeds) -> float:
    """Return the device's seconds for `work`: the longest of its arithmetic, its reads and writes, any kernel."""
    moving = max(card.shortest_kernel, work.bytes / card.memory_bandwidth)
    if not work.flops:
        return moving
    arithmetic = work.flops / card.rate(work.dtype)
    half = card.half_size.get(work.dtype, card.half_size.get("float32", 0.0))
    if half:
        arithmetic *= 1 + half / (work.flops / 2) ** (1 / 3)
    return max(arithmetic, moving)
