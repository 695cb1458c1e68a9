"""The speeds that a simulated GPU is modelled on: a `DeviceModel`. Modelled, never measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simgpu.models.op_seconds import BYTES, Work, op_seconds

# Bytes a second at which one core copies what lies in ordinary (pageable) memory into the driver's pinned buffer, from
# where it goes on to the device. No data sheet states it; measured machines lie between 5 and 15 GB/s.
STAGING = 12e9


@dataclass(frozen=True)
class ProductSeconds:
    """The modelled seconds of one `size` × `size` product in `dtype`: `compute`, and the copies of its matrices.

    `to_device` brings both factors there, `from_device` the product back; `label` says after which model.
    """

    size: int
    dtype: str
    compute: float
    to_device: float
    from_device: float
    label: str


#: What a data sheet has.
OF_A_SHEET = (
    *("name", "hardware", "peak", "memory", "memory_bandwidth", "copy_bandwidth"),
    *("launch", "copy_latency", "assumed"),
)


@dataclass(frozen=True, repr=False)
class DeviceModel:
    """The speeds of a device that is not here. Seconds, bytes, and operations a second throughout.

    - `launch`: the host's time to start an op; `copy_latency`: its time to start a copy.
    - `peak`: dtype name -> operations a second. What is missing runs like float32, float64 at 1/32 of it as on
      NVIDIA's T4. `half_size`: dtype name -> the size n at which an n × n product reaches half of that peak (0: every
      size reaches it, as with figures of a data sheet).
    - `memory`: bytes; `memory_bandwidth`; `copy_bandwidth` of pinned host memory and between devices,
      `copy_bandwidth_pageable` of ordinary host memory, each one way.
    - `shortest_kernel`: the device's time for an op, however small; `synchronise`: the host's time to ask whether a
      device is done, besides the waiting; `peer_bandwidth`: between devices (0: like pinned memory). No data sheet
      states these three.
    - `capability`: CUDA's compute capability, `multiprocessors`: how many; (0, 0) and 0 where they are not known.
    - `origin`: where the figures come from, in words; `assumed`: those that come from nowhere.
    """

    name: str
    hardware: str
    memory: int
    launch: float
    peak: dict[str, float]
    memory_bandwidth: float
    copy_bandwidth: float
    copy_bandwidth_pageable: float
    copy_latency: float
    origin: str
    half_size: dict[str, float] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    shortest_kernel: float = 0.0
    synchronise: float = 0.0
    peer_bandwidth: float = 0.0
    capability: tuple[int, int] = (0, 0)
    multiprocessors: int = 0

    @classmethod
    def from_data_sheet(cls, sheet: Mapping) -> "DeviceModel":
        """Return the model of a vendor's data sheet: its figures as they are, as if every op reached the peak.

        `sheet` has `name`, `hardware`, `peak`, `memory`, `memory_bandwidth`, `copy_bandwidth`, `launch`,
        `copy_latency` and `assumed`, as the files in `simgpu/models/data` do. Raises ValueError where one is missing.
        """
        missing = [name for name in OF_A_SHEET if name not in sheet]
        if missing:
            raise ValueError(
                f"model={dict(sheet)!r}: a data sheet needs {', '.join(missing)}, too, as the files in "
                "simgpu/models/data have them."
            )
        figures = ("hardware", "memory", "launch", "memory_bandwidth", "copy_bandwidth", "copy_latency")
        return cls(
            **{figure: sheet[figure] for figure in figures},
            name=sheet["name"].removesuffix("-data-sheet").upper(),
            peak=dict(sheet["peak"]),
            copy_bandwidth_pageable=staged(sheet["copy_bandwidth"]),
            origin=f"{sheet['hardware']} data sheet, not measured",
            assumed=tuple(sheet["assumed"]),
        )

    @property
    def label(self) -> str:
        """What stands beside every figure of this model."""
        return f"modelled: {self.origin}"

    def seconds(self, work: Work) -> float:
        """Return the device's seconds for `work`: the longest of its arithmetic, its reads and writes, any kernel."""
        return op_seconds(work, self)

    def rate(self, dtype: str) -> float:
        """Return the peak operations a second in `dtype`."""
        if dtype in self.peak:
            return self.peak[dtype]
        return self.peak["float32"] / (32 if dtype == "float64" else 1)

    @property
    def between_devices(self) -> float:
        """Bytes a second from one device to another."""
        return self.peer_bandwidth or self.copy_bandwidth

    def copy_seconds(self, nbytes: int, pinned: bool = False) -> float:
        """Return the seconds of one copy between host and device that is waited for."""
        return self.copy_latency + nbytes / (self.copy_bandwidth if pinned else self.copy_bandwidth_pageable)

    def matmul(self, size: int, dtype: str = "float32") -> ProductSeconds:
        """Return the modelled seconds of one `size` × `size` product among many, copies pageable."""
        matrix = size * size * BYTES[dtype]
        copy = self.copy_seconds(matrix)
        compute = max(self.launch, self.seconds(Work(2 * size**3, 3 * matrix, dtype)))
        return ProductSeconds(size, dtype, compute, 2 * copy, copy, self.label)

    def __repr__(self) -> str:
        return f"DeviceModel({self.name!r}, {self.label})"


def staged(copy_bandwidth: float) -> float:
    """Return the bytes a second of a copy from or to pageable memory: staged by the host first, then sent."""
    return 1 / (1 / copy_bandwidth + 1 / STAGING)
