"""How far a model is off a recorded trace, row by row."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from simgpu.models.calibration import AIMED_SIZE, RecordedTrace, device_of
from simgpu.models.device_model import DeviceModel
from simgpu.models.op_seconds import BYTES, Work
from simgpu.units import seconds_in_words


@dataclass(frozen=True)
class FitError:
    """One row of a trace beside the model: `what` and `size` name it; `recorded` and `modelled` are in seconds."""

    what: str
    size: int
    recorded: float
    modelled: float

    @property
    def relative(self) -> float:
        """(modelled − recorded) / recorded."""
        return self.modelled / self.recorded - 1


class FitErrors(tuple[FitError, ...]):
    """The `FitError`s of a model against a trace; `print` shows the largest, a notebook all of them."""

    label: str  # which model, against which trace

    def __new__(cls, rows: Iterable[FitError], label: str) -> "FitErrors":
        instance = super().__new__(cls, rows)
        instance.label = label
        return instance

    @property
    def aimed(self) -> list[FitError]:
        """Those the model is made for: products of 256 and more, and copies to and from the device."""
        products = [row for row in self if row.what.startswith("product") and row.size >= AIMED_SIZE]
        return products + [row for row in self if row.what.startswith(("to device", "from device"))]

    @property
    def largest(self) -> FitError:
        """The row with the largest error among `aimed`."""
        return max(self.aimed, key=lambda row: abs(row.relative))

    def __repr__(self) -> str:
        row, anywhere = self.largest, max(self, key=lambda row: abs(row.relative))
        return (
            f"{len(self)} rows, {self.label}. Largest error of products from {AIMED_SIZE} on and of copies: "
            f"{row.relative:+.0%} ({row.what} {row.size}); of all: {anywhere.relative:+.0%} "
            f"({anywhere.what} {anywhere.size})."
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        rows = [("what", "size", "recorded", "modelled", "error")]
        for row in self:
            seconds = seconds_in_words(row.recorded), seconds_in_words(row.modelled)
            rows.append((escape(row.what), str(row.size), *seconds, f"{row.relative:+.0%}"))
        table = "".join(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>" for cells in rows)
        html = f"<table><caption>{escape(self.label)}</caption>{table}</table>"
        return {"text/plain": repr(self), "text/html": html}


def errors(model: DeviceModel, trace: RecordedTrace) -> FitErrors:
    """Return the `FitErrors` of `model` (a `DeviceModel`) against the products, copies and ops of `trace`."""
    floor = model.launch if device_of(trace) is None else 0.0  # a device's own seconds have no launch in them
    rows = []
    for row in trace.matmul:
        work = Work(row.flops, 3 * row.size**2 * BYTES[row.dtype], row.dtype)
        rows.append(FitError(f"product {row.dtype}", row.size, row.compute, max(floor, model.seconds(work))))
    for row in trace.copies:
        if row.direction == "in memory":
            modelled = max(floor, model.seconds(Work(0, 2 * row.nbytes)))
        elif row.direction == "between devices":
            modelled = row.nbytes / model.between_devices
        else:
            modelled = model.copy_seconds(row.nbytes, row.memory == "pinned")
        rows.append(FitError(f"{row.direction}, {row.memory}", row.nbytes, row.seconds, modelled))
    for row in trace.ops:
        modelled = max(floor, model.seconds(Work(row.flops, row.nbytes, row.dtype)))
        rows.append(FitError(f"{row.op} {row.dtype}", row.numbers, row.seconds, modelled))
    return FitErrors(rows, f"{model.label}, against a trace recorded on {trace.origin}")
