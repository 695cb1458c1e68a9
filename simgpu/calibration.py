"""A model fitted to a recorded trace, and how far it is off: so that modelled seconds resemble a machine that exists.

Each speed is chosen so that the largest relative error against the rows it decides is as small as its form allows.
"""

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import median
from typing import NamedTuple

import numpy as np

from course.traces.datasheet import BYTES
from simgpu.models import DeviceModel, Work

_HALVES = (0.0, *(2 ** (step / 4) for step in range(53)))  # sizes 1 … 8192 at which half the peak may be reached
_AIMED_SIZE = 256  # products from here on are what the model is for; smaller ones are mostly launches
_GOOD_ENOUGH = log(1.2)


def calibrate(trace):
    """Return the `DeviceModel` that fits `trace` (a `Trace`).

    Products give the launch and, by dtype, peak and half size; ops and copies in memory give the memory's bandwidth,
    copies to and from the device the rest. What a trace does not tell is assumed and listed in `assumed`. Raises
    ValueError for a trace without products in float32.
    """
    if not trace.sizes("float32"):
        raise ValueError(f"calibrate(trace={trace.name!r}): it has no float32 products; record some by record_trace.")
    assumed = []
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


@dataclass(frozen=True)
class FitError:
    """One row of a trace beside the model: `what` and `size` name it; `recorded` and `modelled` are in seconds."""

    what: str
    size: int
    recorded: float
    modelled: float

    @property
    def relative(self):
        """(modelled − recorded) / recorded."""
        return self.modelled / self.recorded - 1


class FitErrors(tuple):
    """The `FitError`s of a model against a trace; `print` shows the largest, a notebook all of them."""

    def __new__(cls, rows, label):
        made = super().__new__(cls, rows)
        made.label = label
        return made

    @property
    def aimed(self):
        """Those the model is made for: products of 256 and more, and copies to and from the device."""
        return [row for row in self if row.what.startswith(("to device", "from device")) or _is_aimed_product(row)]

    @property
    def largest(self):
        """The row with the largest error among `aimed`."""
        return max(self.aimed, key=lambda row: abs(row.relative))

    def __repr__(self):
        row, anywhere = self.largest, max(self, key=lambda row: abs(row.relative))
        return (
            f"{len(self)} rows, {self.label}. Largest error of products from {_AIMED_SIZE} on and of copies: "
            f"{row.relative:+.0%} ({row.what} {row.size}); of all: {anywhere.relative:+.0%} "
            f"({anywhere.what} {anywhere.size})."
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        from course.draw import table
        from course.units import in_words

        rows = [(r.what, r.size, in_words(r.recorded), in_words(r.modelled), f"{r.relative:+.0%}") for r in self]
        shown = table(["what", "size", "recorded", "modelled", "error"], rows, repr(self), self.label)
        return {"text/plain": repr(self), "text/html": shown.html}


def errors(model, trace):
    """Return the `FitErrors` of `model` (a `DeviceModel`) against the products, copies and ops of `trace`."""
    rows = [
        FitError(f"product {row.dtype}", row.size, row.compute, model.matmul(row.size, row.dtype).compute)
        for row in trace.matmul
    ]
    for row in trace.copies:
        if row.direction == "in memory":
            modelled = max(model.launch, 2 * row.nbytes / model.memory_bandwidth)
        else:
            modelled = model.copy_seconds(row.nbytes, row.memory == "pinned")
        rows.append(FitError(f"{row.direction}, {row.memory}", row.nbytes, row.seconds, modelled))
    for row in trace.ops:
        modelled = max(model.launch, model.seconds(Work(row.flops, row.nbytes, row.dtype)))
        rows.append(FitError(f"{row.op} {row.dtype}", row.numbers, row.seconds, modelled))
    return FitErrors(rows, f"{model.label}, against a trace recorded on {trace.origin}")


def _is_aimed_product(row):
    return row.what.startswith("product") and row.size >= _AIMED_SIZE


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
    aimed = [row for row in floors if row.size >= _AIMED_SIZE]
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
    equations = [[1.0, *(row.nbytes * (row.memory == kind) for kind in kinds)] for row in rows]
    seconds = np.array([row.seconds for row in rows])
    solved, *_ = np.linalg.lstsq(np.array(equations) / seconds[:, None], np.ones(len(rows)), rcond=None)
    latency = max(solved[0], 0.0)
    found = {kind: 1 / max(slope, 1e-15) for kind, slope in zip(kinds, solved[1:], strict=True)}
    if len(found) == 1:
        assumed.append(f"copies: pinned and pageable alike, as only {kinds[0]} ones were recorded")
    only = next(iter(found.values()))
    return float(latency), float(found.get("pinned", only)), float(found.get("pageable", only))
