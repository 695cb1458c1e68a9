"""Who computes, who waits: of a training as numbers; of a program on a host and its devices as lanes."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from course.draw.colours import ROLES, bar_style
from course.draw.picture import Picture, figure, picture

#: what a span is -> colour's role, second sign
_LOOK = {
    "launch": ("cpu", None),
    "host": ("cpu", None),
    "wait": ("waiting", "."),
    "set-up": ("gpu", "x"),
    "work": ("gpu", "/"),
    "copy": ("bytes", "-"),
}
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def waiting_share(history: np.ndarray) -> dict[int, float]:
    """Return worker -> the part of its time, 0 to 1, that it waited: from a gradient's arrival to its application.

    `history`: rows with `worker`, `arrived` and `applied` (seconds), such as `TrainingResult.history`. A worker begins
    to compute at 0, then whenever its gradient was applied.
    """
    begins: dict[int, float] = {}
    waited, total = defaultdict(float), defaultdict(float)
    for worker, arrived, applied in history[["worker", "arrived", "applied"]].tolist():
        waited[worker] += applied - arrived
        total[worker] += applied - begins.get(worker, 0.0)
        begins[worker] = applied
    return {worker: waited[worker] / total[worker] if total[worker] > 0 else 0.0 for worker in sorted(waited)}


def strokes(pieces: Iterable[tuple[tuple[float, float], tuple[float, float]]]) -> tuple[list[float], list[float]]:
    """Return x and y of one line that is drawn from the first to the second point of each piece only.

    A shape for each piece would make a picture of a training larger than its chapter.
    """
    points = [point for begin, end in pieces for point in (begin, end, (math.nan, math.nan))]
    return [x for x, _ in points], [y for _, y in points]


def lanes(spans: Sequence[Any], readings: Sequence[float], title: str, label: str) -> Picture:
    """Return a `Picture` of `spans`, the host's lane on top, then the devices' in the order of their names.

    - `spans`: each with lane, what (a key of the table above), start and stop in seconds; `name`, where it has one,
      is written on it.
    - `readings`: moments at which a stopwatch was read; `title` states what all this shows.
    - `label`: what kind of seconds these are ("modelled: NVIDIA H200 …"), written on the axis.
    """
    rows = ["host", *sorted({span.lane for span in spans} - {"host"}, key=_order)]
    first = min((span.start for span in spans), default=0.0)
    length = max((span.stop for span in spans), default=1.0) - first
    unit, scale = next((u for u in _UNITS if length >= u[1]), _UNITS[-1])
    with figure(figsize=(7.2, 1.3 + 0.5 * len(rows))) as (drawn, axes):
        for span in spans:
            _bar(axes, span, len(rows) - 1 - rows.index(span.lane), first, scale, length)
        for reading in readings:
            axes.axvline((reading - first) / scale, color=ROLES["error"].colour, linewidth=1.5)
        axes.set_yticks(range(len(rows)), labels=[row.replace("gpu", "GPU") for row in reversed(rows)])
        axes.set_ylim(-0.5, len(rows) - 0.3)
        axes.set_xlim(0, 1.02 * length / scale)
        axes.set_xlabel(f"{unit}, {label}{'; red lines: the stopwatch is read' if readings else ''}")
        axes.set_title(title)
    read = f"; read at {' and '.join(f'{reading:g}' for reading in readings)} s" if readings else ""
    alt = f"{title}. {len(spans)} spans on {len(rows)} lanes over {length / scale:.3g} {unit}, {label}{read}."
    return picture(drawn, alt)


def _order(lane):
    """Sort `gpu:10 …` after `gpu:9 …`, and the lanes of a device as work passes them: in, compute, out."""
    device, _, way = lane.partition(" ")
    index = device.partition(":")[2]
    return int(index or 0), ["", "copy in", "compute", "copy out"].index(way)


def _bar(axes, span, height, first, scale, length):
    """Draw one span; what the host does is solid, what devices do is hatched and dashed: nobody measured it."""
    role, hatch = _LOOK[span.what]
    solid, colour = role == "cpu", ROLES[role].colour
    begin, width = (span.start - first) / scale, (span.stop - span.start) / scale
    axes.barh(height, width, left=begin, height=0.5, **bar_style(role, solid, hatch))
    words = getattr(span, "name", "") or span.what
    wide_enough = span.stop - span.start > 0.012 * length * len(words)  # else neighbours' words would run together
    if not solid and wide_enough:
        axes.annotate(words, (begin + width / 2, height + 0.31), ha="center", color=colour, fontsize=9)
