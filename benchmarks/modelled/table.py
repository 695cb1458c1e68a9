"""Modelled beside measured: a row a program, and a page of docs."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.modelled.modelling import Modelled
from simgpu.recording.stopwatch import Spread


class Row(NamedTuple):
    """A program's seconds by the model and by the device, the width of the middle half of these, what bounds it."""

    name: str
    modelled: float
    measured: float
    iqr: float
    bound: str

    @property
    def ratio(self) -> float:
        """Modelled over measured."""
        return self.modelled / self.measured


class Origin(NamedTuple):
    """Whose seconds these are: the `hardware`, whether `simulated`, and `driver`, `torch` and ISO `date`."""

    hardware: str
    simulated: bool
    driver: str
    torch: str
    date: str


def compared(modelled: Mapping[str, Modelled], measured: Mapping[str, Spread]) -> list[Row]:
    """Return a `Row` for each program, in the order of `modelled`."""
    return [
        Row(name, one.seconds, measured[name].median, measured[name].iqr, one.bound) for name, one in modelled.items()
    ]


def median_error(rows: Sequence[Row]) -> float:
    """Return the median of |modelled − measured| / measured.

    >>> median_error([Row("a", 1.1, 1.0, 0.0, "launch"), Row("b", 1.0, 2.0, 0.0, "memory")])
    0.3
    """
    return round(median(abs(row.ratio - 1) for row in rows), 9)


def lines(rows: Sequence[Row], origin: Origin) -> list[str]:
    """Return the comparison as Markdown lines: whose seconds, the table, then the median error."""
    kind = "SIMULATED: both by a modelled clock, nothing here is measured" if origin.simulated else "measured"
    return [
        f"{origin.hardware}, {origin.driver}, torch {origin.torch}, {origin.date}: {kind}.",
        "",
        f"Median error: {median_error(rows):.1%}; within 15 %: {sum(abs(row.ratio - 1) <= 0.15 for row in rows)} of "
        f"{len(rows)}.",
        "",
        "| program | modelled ms | measured ms | middle half | ratio | bound by |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.name.replace('_', ' ')} | {row.modelled * 1e3:.4g} | {row.measured * 1e3:.4g} | "
            f"{row.iqr / row.measured:.0%} | {row.ratio:.2f} | {row.bound} |"
            for row in rows
        ),
    ]


def page(rows: Sequence[Row], origin: Origin) -> str:
    """Return the page of docs; raises ValueError for seconds that are simulated."""
    if origin.simulated:
        raise ValueError(f"page(origin={origin.hardware!r}): simulated, and the page is for what was measured.")
    return TOP + "\n".join(lines(rows, origin)) + "\n"


TOP = """# Modelled and measured

What simgpu's clock says of 40 short programs, beside what a real card took for them. The model is the card's own,
fitted by `simgpu calibrate` to products, copies and three elementwise ops; none of the programs was used for it. They
are in `benchmarks/modelled/programs`. Measured is the time between two events around a step, the median of 31 after a
warm-up; modelled is the same step on a simulated GPU. *Bound by* is what took longest in the model: the host's
launches, reads and writes of the device's memory, arithmetic, or copies. This page is made by `make calibrate`.

"""
