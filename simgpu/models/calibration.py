"""A model fitted to a recorded trace, so that modelled seconds resemble a machine that exists.

Each speed is chosen so that the largest relative error against the rows it decides is as small as its form allows.
"""

from collections.abc import Sequence
from math import exp, inf, log, sqrt
from statistics import median
from typing import Any, NamedTuple, Protocol

from simgpu.models.device_model import BYTES, DeviceModel

_HALVES = (0.0, *(2 ** (step / 4) for step in range(53)))  # sizes 1 … 8192 at which half the peak may be reached
AIMED_SIZE = 256  # products from here on are what the model is for; smaller ones are mostly launches
_GOOD_ENOUGH = log(1.2)


class RecordedTrace(Protocol):
    """What `calibrate` reads of a trace; any object with these will do. Seconds and bytes throughout.

    - `matmul`: rows with size, dtype, compute (seconds of a product) and flops.
    - `copies`: rows with direction ("to device", "from device", "in memory"), memory ("pinned", "pageable"), nbytes and
      seconds.
    - `ops`: rows with op, dtype, numbers (how many), flops, nbytes and seconds.
    """

    @property
    def name(self) -> str: ...
    @property
    def hardware(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def matmul(self) -> Sequence[Any]: ...
    @property
    def copies(self) -> Sequence[Any]: ...
    @property
    def ops(self) -> Sequence[Any]: ...


def calibrate(trace: RecordedTrace) -> DeviceModel:
    """Return the `DeviceModel` that fits `trace`.

    Products give the launch and, by dtype, peak and half size; ops and copies in memory give the memory's bandwidth,
    copies to and from the device the rest. What a trace does not tell is assumed and listed in `assumed`. Raises
    ValueError for a trace without products in float32.
    """
    if not any(row.dtype == "float32" for row in trace.matmul):
        raise ValueError(f"calibrate(trace={trace.name!r}): it has no float32 products; record some by record_trace.")
    assumed: list[str] = []
    bandwidth = _memory(trace)
    launch, peak, half_size = _products(trace.matmul, bandwidth, assumed)
    if bandwidth == inf:
        bandwidth = peak["float32"] / 10
        assumed.append("memory bandwidth: a byte for every ten operations of the float32 peak")
    latency, pinned, pageable = _copies(trace, bandwidth, assumed)
    return DeviceModel(
        name=trace.name,
        hardware=trace.hardware,
        memory=16 * 2**30,
        launch=launch,
        peak=peak,
        memory_bandwidth=bandwidth,
        copy_bandwidth=pinned,
        copy_bandwidth_pageable=pageable,
        copy_latency=latency,
        origin=f"fitted to a trace recorded on {trace.origin}",
        half_size=half_size,
        assumed=(*assumed, "memory: 16 GiB"),
    )


def _products(rows, bandwidth, assumed):
    """Return launch, peaks and half sizes: time = max(launch, bytes / bandwidth, 2n³ / peak · (1 + half / n))."""
    shortest = min(row.compute for row in rows)
    near = [row.compute for row in rows if row.compute <= 1.25 * shortest]
    tried = []
    for launch in (0.0, sqrt(min(near) * max(near))):  # 0: every row lies above the launch
        floors = {row: max(launch, 3 * row.size**2 * BYTES[row.dtype] / bandwidth) for row in rows}
        fits = {
            dtype: _rate({row: floor for row, floor in floors.items() if row.dtype == dtype})
            for dtype in sorted({row.dtype for row in rows})
        }
        worst, everywhere = (max(fit[place] for fit in fits.values()) for place in (0, 1))
        tried.append(((max(worst, _GOOD_ENOUGH), round(everywhere, 2)), launch, fits))
    _, launch, fits = min(tried, key=lambda one: one[0])
    if not launch:
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
    found = []
    for half in _HALVES:
        ideal = {row: row.flops * (1 + half / row.size) for row in floors}
        logs = [log(ideal[row] / row.compute) for row in longer or aimed]
        # Without a row above its floor nothing but a lower bound of the peak is known: the highest rate seen.
        peak = exp((max(logs) + min(logs)) / 2 if longer else max(logs))
        off = {row: abs(log(max(floor, ideal[row] / peak) / row.compute)) for row, floor in floors.items()}
        found.append(_Rate(max(off[row] for row in aimed), max(off.values()), peak, half))
    return min(found, key=lambda rate: (max(rate.worst, _GOOD_ENOUGH), rate.everywhere))


def _memory(trace):
    """Return the bytes a second of ops too large for a cache and too plain to be bound by arithmetic; inf: unknown."""
    moved = [(row.nbytes, row.seconds) for row in trace.ops if row.flops <= row.nbytes]
    moved += [(2 * row.nbytes, row.seconds) for row in trace.copies if row.direction == "in memory"]
    largest = max((nbytes for nbytes, _ in moved), default=0)
    # The middle one: an op such as exp is bound by arithmetic on some machines, and would pull any mean down.
    return median([nbytes / seconds for nbytes, seconds in moved if nbytes >= largest / 4] or [inf])


def _copies(trace, bandwidth, assumed):
    """Return latency, pinned and pageable bandwidth of copies: seconds = latency + bytes / bandwidth, both ways."""
    rows = [row for row in trace.copies if row.direction != "in memory"]
    if not rows:
        assumed.append("copies: at half the memory's bandwidth, at once, as nothing was copied to a device")
        return 0.0, bandwidth / 2, bandwidth / 2
    kinds = sorted({row.memory for row in rows})
    # Divided by the recorded seconds, so that a small copy counts as much as a large one.
    columns = [[row.nbytes * (row.memory == kind) / row.seconds for row in rows] for kind in kinds]
    *slopes, constant = _least_squares([*columns, [1 / row.seconds for row in rows]], [1.0] * len(rows))
    latency = max(constant, 0.0)
    found = {kind: 1 / max(slope, 1e-15) for kind, slope in zip(kinds, slopes, strict=True)}
    if len(found) == 1:
        assumed.append(f"copies: pinned and pageable alike, as only {kinds[0]} ones were recorded")
    only = next(iter(found.values()))
    return latency, found.get("pinned", only), found.get("pageable", only)


def _least_squares(columns, wanted):
    """Return the factors of `columns` whose sum comes nearest to `wanted`, by Gram and Schmidt's way.

    A column that tells nothing beside those before it (one size alone was copied) has the factor 0.
    """
    basis, above = [], []
    for column in columns:
        rest, shares = list(column), []
        for unit in basis:
            shares.append(sum(a * b for a, b in zip(unit, rest, strict=True)))
            rest = [a - shares[-1] * b for a, b in zip(rest, unit, strict=True)]
        length, whole = (sqrt(sum(a * a for a in one)) for one in (rest, column))
        length = length if length > 1e-12 * whole else inf
        basis.append([a / length for a in rest])
        above.append([*shares, length])
    factors = [0.0] * len(columns)
    for place in reversed(range(len(columns))):
        share = sum(a * b for a, b in zip(basis[place], wanted, strict=True))
        later = sum(above[other][place] * factors[other] for other in range(place + 1, len(columns)))
        factors[place] = (share - later) / above[place][place]
    return factors
