"""A vendor's data sheet, and the seconds a product *would* take if the device reached it: modelled, never measured."""

from dataclasses import asdict, dataclass

from course.traces.timings import MatmulTiming
from simgpu.models.device_model import DeviceModel


@dataclass(frozen=True)
class DataSheet:
    """Peak figures of a device, as its maker states them; a real program reaches a part of each.

    - `peak`: dtype name -> floating-point operations a second; `memory_bandwidth` and `copy_bandwidth` (one way between
      host and device): bytes a second; `memory`: bytes.
    - `launch` (seconds the host spends to start an op), `copy_latency` (seconds a copy takes however small) and the
      extra step of a copy from pageable memory stand on no data sheet: they are assumptions, listed in `assumed`.
    - `sources`: where the figures were published.
    """

    name: str
    hardware: str
    peak: dict
    memory: int
    memory_bandwidth: float
    copy_bandwidth: float
    launch: float
    copy_latency: float
    assumed: tuple
    sources: tuple

    @property
    def origin(self) -> str:
        """The device and where the figures come from, as shown beside every modelled figure."""
        return f"{self.hardware} data sheet, not measured"

    def matmul(self, size: int, dtype: str = "float32") -> MatmulTiming:
        """Return the modelled `MatmulTiming` of one `size` × `size` product among many, as a stopwatch sees it.

        The product takes the longest of three: the host's `launch` of the next one, its arithmetic at `peak`, its reads
        and writes at `memory_bandwidth`. Two copies go in, one comes out, from and to pageable memory, each
        `copy_latency` plus its bytes: the rule by which `simulated_gpus` keeps its clock.
        Raises ValueError for a dtype that the sheet does not list.
        """
        if dtype not in self.peak:
            legal = ", ".join(self.peak)
            raise ValueError(f"DataSheet.matmul(dtype={dtype!r}): the {self.hardware} sheet lists {legal}. Use one.")
        took = DeviceModel.from_data_sheet(asdict(self)).matmul(size, dtype)
        times = took.compute, took.to_device, took.from_device
        return MatmulTiming(size, "/gpu:0", *times, dtype=dtype, kind="modelled", origin=self.origin)

    @classmethod
    def from_document(cls, document: dict) -> "DataSheet":
        """Build a data sheet from JSON data that `validate` has passed."""
        fields = {k: v for k, v in document.items() if k not in ("schema", "kind", "assumed", "sources")}
        return cls(**fields, assumed=tuple(document["assumed"]), sources=tuple(document["sources"]))
