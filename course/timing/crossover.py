"""`crossover`: from what size on a GPU is worth it, with the copies counted and without."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp, floor, log

from course.traces import MatmulTiming


@dataclass(frozen=True, repr=False)
class Crossover:
    """The smallest size at which the GPU wins; None where it never does.

    `label` says where the times come from, unless both were measured on this machine; it takes no part in `==`.
    """

    without_transfers: int | None
    with_transfers: int | None
    label: str = field(default="", compare=False)

    def __repr__(self):
        sizes = f"without_transfers={self.without_transfers}, with_transfers={self.with_transfers}"
        return f"Crossover({sizes})" + (f"  [{self.label}]" if self.label else "")


def crossover(timings: Iterable[MatmulTiming], between_sizes: bool = False) -> Crossover:
    """Return the `Crossover` of `timings`, a list of `MatmulTiming` of one CPU and one GPU, in any order.

    Only sizes timed on both count; an exact tie is no win. With `between_sizes` the answer is a whole number between
    two of them, where the lines cross that a plot on logarithmic axes draws. Raises ValueError unless there is one
    device of each sort and one dtype, with no size twice.

    >>> from course.traces import MatmulTiming
    >>> cpu = [MatmulTiming(n, "cpu", compute=n) for n in (1, 2, 3, 4)]
    >>> gpu = [MatmulTiming(n, "gpu", compute=1.5, to_device=1, from_device=1) for n in (1, 2, 3, 4)]
    >>> crossover(cpu + gpu)
    Crossover(without_transfers=2, with_transfers=4)
    >>> crossover(cpu[::2] + gpu, between_sizes=True)  # the CPU at 1 and 3
    Crossover(without_transfers=2, with_transfers=None)
    """
    cpu, gpu = _by_size(timings)
    both = sorted(cpu.keys() & gpu.keys())
    slow = {n: cpu[n].compute for n in both}
    alone, with_copies = ({n: getattr(gpu[n], name) for n in both} for name in ("compute", "total"))
    first = _first_between if between_sizes else _first
    return Crossover(first(slow, alone), first(slow, with_copies), _label(cpu, gpu))


def _first(cpu, gpu):
    """Return the smallest size at which `gpu` has fewer seconds than `cpu`, None if there is none."""
    return next((n for n in cpu if gpu[n] < cpu[n]), None)


def _first_between(cpu, gpu):
    """Return as `_first`, but from where the lines to it from the size before cross, on logarithmic axes."""
    won, sizes = _first(cpu, gpu), list(cpu)
    if won is None or won == sizes[0]:
        return won
    before = sizes[sizes.index(won) - 1]
    if not (cpu[before] and gpu[won]):
        return won  # no logarithm of 0 seconds
    behind, ahead = log(gpu[before] / cpu[before]), log(cpu[won] / gpu[won])
    crossing = exp(log(before) + log(won / before) * behind / (behind + ahead))
    return min(won, max(before, floor(crossing)) + 1)


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
