"""How long an op takes on a card, in modelled seconds: what it asks for, divided by the card's speeds.

`simgpu.ops.flops_and_bytes` counts what an op asks for; `simgpu.clock` says when a card comes to it.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simgpu.models.device_model import DeviceModel

#: dtype name -> bytes a number. "tfloat32" is float32 multiplied by tensor cores, stored like float32.
BYTES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2}


class Work(NamedTuple):
    """What an op asks of a device: `flops` floating-point operations in `dtype`, `bytes` read and written.

    A named tuple, as one is made for every op and a frozen dataclass would take three times as long.
    """

    flops: float = 0
    bytes: float = 0
    dtype: str = "float32"


def op_seconds(work: Work, card: "DeviceModel") -> float:
    """Return the device's seconds for `work`: the longest of its arithmetic, its reads and writes, any kernel."""
    moving = max(card.shortest_kernel, work.bytes / card.memory_bandwidth)
    if not work.flops:
        return moving
    arithmetic = work.flops / card.rate(work.dtype)
    half = card.half_size.get(work.dtype, card.half_size.get("float32", 0.0))
    if half:
        arithmetic *= 1 + half / (work.flops / 2) ** (1 / 3)
    return max(arithmetic, moving)
