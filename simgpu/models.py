"""What a simulated GPU is modelled on: speeds from a data sheet, or fitted to a recorded trace; never measured here."""

from dataclasses import dataclass, field
from typing import NamedTuple

from course.traces import DataSheet, MatmulTiming, Trace, load_trace, names
from course.traces.datasheet import BYTES


class Work(NamedTuple):
    """What an op asks of a device: `flops` floating-point operations in `dtype`, `bytes` read and written.

    A named tuple, as one is made for every op and a frozen dataclass would take three times as long.
    """

    flops: float = 0
    bytes: float = 0
    dtype: str = "float32"


@dataclass(frozen=True, repr=False)
class DeviceModel:
    """The speeds of a device that is not here. Seconds, bytes, and operations a second throughout.

    - `launch`: the host's time to start an op; `copy_latency`: its time to start a copy.
    - `peak`: dtype name -> operations a second. What is missing runs like float32, float64 at 1/32 of it as on
      NVIDIA's T4. `half_size`: dtype name -> the size n at which an n × n product reaches half of that peak (0: every
      size reaches it, as with figures of a data sheet).
    - `memory`: bytes; `memory_bandwidth`; `copy_bandwidth` of pinned host memory and between devices,
      `copy_bandwidth_pageable` of ordinary host memory, each one way.
    - `origin`: where the figures come from, in words; `assumed`: those that come from nowhere.
    """

    name: str
    hardware: str
    memory: int
    launch: float
    peak: dict
    memory_bandwidth: float
    copy_bandwidth: float
    copy_bandwidth_pageable: float
    copy_latency: float
    origin: str
    half_size: dict = field(default_factory=dict)
    assumed: tuple = ()

    @property
    def label(self):
        """What stands beside every figure of this model."""
        return f"modelled: {self.origin}"

    def seconds(self, work):
        """Return the device's seconds for `work`: the longer of its arithmetic and its reads and writes."""
        moving = work.bytes / self.memory_bandwidth
        if not work.flops:
            return moving
        arithmetic = work.flops / self.rate(work.dtype)
        half = self.half_size.get(work.dtype) or self.half_size.get("float32", 0.0)
        if half:
            arithmetic *= 1 + half / (work.flops / 2) ** (1 / 3)
        return max(arithmetic, moving)

    def rate(self, dtype):
        """Return the peak operations a second in `dtype`."""
        if dtype in self.peak:
            return self.peak[dtype]
        return self.peak["float32"] / (32 if dtype == "float64" else 1)

    def copy_seconds(self, nbytes, pinned=False):
        """Return the seconds of one copy between host and device that is waited for."""
        return self.copy_latency + nbytes / (self.copy_bandwidth if pinned else self.copy_bandwidth_pageable)

    def matmul(self, size, dtype="float32"):
        """Return the modelled `MatmulTiming` of one `size` × `size` product among many, copies pageable."""
        matrix = size * size * BYTES[dtype]
        copy = self.copy_seconds(matrix)
        return MatmulTiming(
            size=size,
            device="/gpu:0",
            compute=max(self.launch, self.seconds(Work(2 * size**3, 3 * matrix, dtype))),
            to_device=2 * copy,
            from_device=copy,
            dtype=dtype,
            kind="modelled",
            origin=self.origin,
        )

    def __repr__(self):
        return f"DeviceModel({self.name!r}, {self.label})"


def model_for(given):
    """Return the `DeviceModel` meant by a name ("H200", "T4", a trace's), a `DataSheet`, a `Trace` or a `DeviceModel`.

    A data sheet's figures are taken as they are; a trace is fitted by `calibrate`. Raises ValueError for a name that
    stands for neither, TypeError for anything else.

    >>> model_for("H200")
    DeviceModel('H200', modelled: NVIDIA H200 SXM data sheet, not measured)
    """
    if isinstance(given, DeviceModel):
        return given
    if isinstance(given, DataSheet):
        return _from_sheet(given)
    if isinstance(given, Trace):
        from simgpu.calibration import calibrate

        return calibrate(given)
    if not isinstance(given, str):
        raise TypeError(f"model={given!r}: give a name such as 'H200', a DataSheet, a Trace or a DeviceModel.")
    known = names()
    for name in (given, f"{given.lower()}-data-sheet"):
        if name in known or name.endswith(".json"):
            return model_for(load_trace(name))
    short = [name.removesuffix("-data-sheet").upper() for name in known if name.endswith("-data-sheet")]
    traces = [name for name in known if not name.endswith("-data-sheet")]
    raise ValueError(
        f"model={given!r}: no data sheet and no trace by that name. Use {', '.join(short)} (data sheets), "
        f"{', '.join(traces)} (recorded), or the path of a trace of your own that ends in .json."
    )


def _from_sheet(sheet):
    return DeviceModel(
        name=sheet.name.removesuffix("-data-sheet").upper(),
        hardware=sheet.hardware,
        memory=sheet.memory,
        launch=sheet.launch,
        peak=dict(sheet.peak),
        memory_bandwidth=sheet.memory_bandwidth,
        copy_bandwidth=sheet.copy_bandwidth,
        copy_bandwidth_pageable=sheet.copy_bandwidth_pageable,
        copy_latency=sheet.copy_latency,
        origin=sheet.origin,
        assumed=sheet.assumed,
    )
