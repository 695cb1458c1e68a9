"""`crossover`: from what size on a GPU is worth it, with the copies counted and without."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from course.traces import MatmulTiming


@dataclass(frozen=True, repr=False)
class Crossover:
    """The smallest size timed at which the GPU wins; None where it never does.

    `label` says where the times come from, unless both were measured on this machine; it takes no part in `==`.
    """

    without_transfers: int | None
    with_transfers: int | None
    label: str = field(default="", compare=False)

    def __repr__(self):
        sizes = f"without_transfers={self.without_transfers}, with_transfers={self.with_transfers}"
        return f"Crossover({sizes})" + (f"  [{self.label}]" if self.label else "")


def crossover(timings: Iterable[MatmulTiming]) -> Crossover:
    """Return the `Crossover` of `timings`, a list of `MatmulTiming` of one CPU and one GPU, in any order.

    Only sizes timed on both count; an exact tie is no win. Raises ValueError unless there is one device of each sort
    and one dtype, with no size twice.

    >>> from course.traces import MatmulTiming
    >>> cpu = [MatmulTiming(n, "cpu", compute=n) for n in (1, 2, 3, 4)]
    >>> gpu = [MatmulTiming(n, "gpu", compute=1.5, to_device=1, from_device=1) for n in (1, 2, 3, 4)]
    >>> crossover(cpu + gpu)
    Crossover(without_transfers=2, with_transfers=4)
    """
    cpu, gpu = _by_size(timings)
    both = sorted(cpu.keys() & gpu.keys())
    computes = [n for n in both if gpu[n].compute < cpu[n].compute]
    totals = [n for n in both if gpu[n].total < cpu[n].total]
    return Crossover(min(computes, default=None), min(totals, default=None), _label(cpu, gpu))


def _label(cpu, gpu):
    """Name both sorts of times, or nothing when all were measured here."""
    sorts = {f"{name} {t.label}": t.kind for name, timings in (("CPU", cpu), ("GPU", gpu)) for t in timings.values()}
    return "" if set(sorts.values()) == {"measured"} else "; ".join(sorts)


def _by_size(timings):
    devices = {t.on_cpu: t.device for t in timings}
    if len(devices) != 2 or len({(t.device, t.dtype) for t in timings}) != 2 or len({t.dtype for t in timings}) != 1:
        devices_given = ", ".join(sorted({f"{t.device} {t.dtype}" for t in timings})) or "nothing"
        raise ValueError(
            f"crossover(timings): given {devices_given}; it compares one CPU with one GPU in one dtype. "
            "No GPU here? Use a data sheet: [load_trace('h200-data-sheet').matmul(n) for n in sizes]."
        )
    by_device = {}
    for timing in timings:
        sizes = by_device.setdefault(timing.on_cpu, {})
        if timing.size in sizes:
            raise ValueError(
                f"crossover(timings): size {timing.size} stands twice for {timing.device}; keep one of them."
            )
        sizes[timing.size] = timing
    return by_device[True], by_device[False]
