"""A model fitted to a recorded trace, so that modelled seconds resemble a machine that exists.

Each speed is chosen so that the largest relative error against the rows it decides is as small as its form allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import median
from typing import Any, NamedTuple, Protocol

from simgpu.models.device_model import DeviceModel
from simgpu.models.op_seconds import BYTES

_HALVES = (0.0, *(2 ** (step / 4) for step in range(53)))  # sizes 1 … 8192 at which half the peak may be reached
AIMED_SIZE = 256  # products from here on are what the model is for; smaller ones are mostly launches
_GOOD_ENOUGH = log(1.2)


class RecordedTrace(Protocol):
    """What `calibrate` reads of a trace; any object with these will do."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def hardware(self) -> str:
        """The device that was recorded."""

    @property
    def origin(self) -> str:
        """Hardware and date."""

    @property
    def matmul(self) -> Sequence[Any]:
        """Rows with size, dtype, compute (seconds of a product) and flops."""

    @property
    def copies(self) -> Sequence[Any]:
        """Rows: direction ("to device", "from device", "in memory"), memory ("pinned", "pageable"), nbytes, seconds."""

    @property
    def ops(self) -> Sequence[Any]:
        """Rows with op, dtype, numbers (how many), flops, nbytes and seconds."""


@dataclass(frozen=True)
class Device:
    """What a trace may say of its device itself, as its `device`; its products and ops are then the device's seconds.

    Without it they are taken as seen by a host that queues one after the other. `launch`, `shortest_kernel` and
    `synchronise` are in seconds, `memory` in bytes; they and the other two are as a `DeviceModel` has them.
    """

    launch: float
    shortest_kernel: float
    synchronise: float
    memory: int
    capability: tuple[int, int]
    multiprocessors: int


def calibrate(trace: RecordedTrace) -> DeviceModel:
    """Return the `DeviceModel` that fits `trace`.

    Products give, by dtype, peak and half size, and the launch, unless the trace has a `Device`; ops and copies in
    memory give the memory's bandwidth, copies to, from and between devices the rest. What a trace does not tell is
    assumed and listed in `assumed`. Raises ValueError for a trace without products in float32.
    """
    if not any(row.dtype == "float32" for row in trace.matmul):
        raise ValueError(f"calibrate(trace={trace.name!r}): it has no float32 products; record some by record_trace.")
    assumed: list[str] = []
    device = device_of(trace)
    bandwidth = _memory(trace)
    launch, peak, half_size = _products(trace.matmul, bandwidth, assumed, device)
    if bandwidth == inf:
        bandwidth = peak["float32"] / 10
        assumed.append("memory bandwidth: a byte for every ten operations of the float32 peak")
    latency, pinned, pageable = _copies(trace, bandwidth, assumed)
    if device is None:
        assumed.append("memory: 16 GiB")
    return DeviceModel(
        name=trace.name,
        hardware=trace.hardware,
        memory=16 * 2**30 if device is None else device.memory,
        launch=launch,
        peak=peak,
        memory_bandwidth=bandwidth,
        copy_bandwidth=pinned,
        copy_bandwidth_pageable=pageable,
        copy_latency=latency,
        origin=f"fitted to a trace recorded on {trace.origin}",
        half_size=half_size,
        assumed=tuple(assumed),
        peer_bandwidth=_between(trace),
        **({} if device is None else {name: getattr(device, name) for name in _AS_STATED}),
    )


#: What of a `Device` a model takes over as it is.
_AS_STATED = ("shortest_kernel", "synchronise", "capability", "multiprocessors")


def device_of(trace: RecordedTrace) -> Device | None:
    """Return what `trace` says of its device itself, or None."""
    return getattr(trace, "device", None)


def _products(rows, bandwidth, assumed, device):
    """Return launch, peaks and half sizes: time = max(launch, bytes / bandwidth, 2n³ / peak · (1 + half / n)).

    On the `device`'s own time it is the shortest kernel that takes the place of the launch.
    """
    shortest = min(row.compute for row in rows)
    near = [row.compute for row in rows if row.compute <= 1.25 * shortest]
    tried = []
    # 0: every row lies above the launch
    for launch in (0.0, sqrt(min(near) * max(near))) if device is None else (device.shortest_kernel,):
        floors = {row: max(launch, 3 * row.size**2 * BYTES[row.dtype] / bandwidth) for row in rows}
        fits = {
            dtype: _rate({row: floor for row, floor in floors.items() if row.dtype == dtype})
            for dtype in sorted({row.dtype for row in rows})
        }
        worst, everywhere = (max(fit[place] for fit in fits.values()) for place in (0, 1))
        tried.append(((max(worst, _GOOD_ENOUGH), round(everywhere, 2)), launch, fits))
    _, launch, fits = min(tried, key=lambda fit: fit[0])
    if device is not None:
        launch = device.launch
    elif not launch:
        launch = min(10e-6, shortest)
        assumed.append(f"launch: {launch * 1e6:.3g} µs, as no product was short enough to show it")
    return launch, {d: fit.peak for d, fit in fits.items()}, {d: fit.half for d, fit in fits.items()}


class _Rate(NamedTuple):
    worst: float  # largest |log(modelled / recorded)| of the aimed sizes
    everywhere: float  # the same of all sizes
    peak: float
    half: float


def _rate(floors):
    """Return the `_Rate` with the least error on the aimed sizes (on all, if few are); good enough there, on all.

    `floors`: row -> seconds below which no speed of arithmetic brings it. Rows near their floor say nothing about that
    speed; they only count as errors.
    """
    aimed = [row for row in floors if row.size >= AIMED_SIZE]
    aimed = aimed if len(aimed) >= 3 else list(floors)
    longer = [row for row in aimed if row.compute > 1.25 * floors[row]]
    rates = []
    for half in _HALVES:
        ideal = {row: row.flops * (1 + half / row.size) for row in floors}
        logs = [log(ideal[row] / row.compute) for row in longer or aimed]
        # Without a row above its floor nothing but a lower bound of the peak is known: the highest rate seen.
        peak = exp((max(logs) + min(logs)) / 2 if longer else max(logs))
        off = {row: abs(log(max(floor, ideal[row] / peak) / row.compute)) for row, floor in floors.items()}
        rates.append(_Rate(max(off[row] for row in aimed), max(off.values()), peak, half))
    return min(rates, key=lambda rate: (max(rate.worst, _GOOD_ENOUGH), rate.everywhere))


def _memory(trace):
    """Return the bytes a second of ops too large for a cache and too plain to be bound by arithmetic; inf: unknown."""
    moved = [(row.nbytes, row.seconds) for row in trace.ops if row.flops <= row.nbytes]
    moved += [(2 * row.nbytes, row.seconds) for row in trace.copies if row.direction == "in memory"]
    largest = max((nbytes for nbytes, _ in moved), default=0)
    # The middle one: an op such as exp is bound by arithmetic on some machines, and would pull any mean down.
    return median([nbytes / seconds for nbytes, seconds in moved if nbytes >= largest / 4] or [inf])


def _copies(trace, bandwidth, assumed):
    """Return latency, pinned and pageable bandwidth of copies: seconds = latency + bytes / bandwidth, both ways."""
    rows = [row for row in trace.copies if row.direction in ("to device", "from device")]
    if not rows:
        assumed.append("copies: at half the memory's bandwidth, at once, as nothing was copied to a device")
        return 0.0, bandwidth / 2, bandwidth / 2
    latency, speeds = _latency_and_speeds(rows)
    if len(speeds) == 1:
        assumed.append(f"copies: pinned and pageable alike, as only {rows[0].memory} ones were recorded")
    only = next(iter(speeds.values()))
    return latency, speeds.get("pinned", only), speeds.get("pageable", only)


def _between(trace):
    """Return the bandwidth of copies from one device to another, 0 where none was recorded."""
    rows = [row for row in trace.copies if row.direction == "between devices"]
    return next(iter(_latency_and_speeds(rows)[1].values())) if rows else 0.0


def _latency_and_speeds(rows):
    """Return the seconds before a copy of `rows` begins, and kind of memory -> bytes a second after that."""
    kinds = sorted({row.memory for row in rows})
    # Divided by the recorded seconds, so that a small copy counts as much as a large one.
    columns = [[row.nbytes * (row.memory == kind) / row.seconds for row in rows] for kind in kinds]
    *slopes, constant = _least_squares([*columns, [1 / row.seconds for row in rows]], [1.0] * len(rows))
    return max(constant, 0.0), {kind: 1 / max(slope, 1e-15) for kind, slope in zip(kinds, slopes, strict=True)}


def _least_squares(columns, wanted):
    """Return the factors of `columns` whose weighted sum is nearest to `wanted`, by Gram-Schmidt orthogonalisation.

    A column that depends on those before it (only one size was copied) has the factor 0.
    """
    basis, above = [], []
    for column in columns:
        rest, shares = list(column), []
        for unit in basis:
            shares.append(sum(a * b for a, b in zip(unit, rest, strict=True)))
            rest = [a - shares[-1] * b for a, b in zip(rest, unit, strict=True)]
        length, whole = (sqrt(sum(a * a for a in vector)) for vector in (rest, column))
        length = length if length > 1e-12 * whole else inf
        basis.append([a / length for a in rest])
        above.append([*shares, length])
    factors = [0.0] * len(columns)
    for place in reversed(range(len(columns))):
        share = sum(a * b for a, b in zip(basis[place], wanted, strict=True))
        later = sum(above[other][place] * factors[other] for other in range(place + 1, len(columns)))
        factors[place] = (share - later) / above[place][place]
    return factors
