"""Who computes, who waits: of a training, one row a worker, one bar a gradient, updates as marks below; of a program
on a host and its devices, one lane each.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.draw.colours import ROLES, bar_style, worker_colour
from course.draw.picture import Picture, figure, picture

_WAITS: dict[str, Any] = {"facecolor": "none", "edgecolor": ROLES["waiting"].colour, "hatch": "..."}
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


@dataclass(frozen=True)
class Span:
    """A stretch of one worker's time, in seconds: it computes from `begin` to `arrived`, then waits until `applied`."""

    worker: int
    begin: float
    arrived: float
    applied: float


def spans(history: np.ndarray) -> list[Span]:
    """Return the `Span`s of a training's history: a worker begins at 0, then whenever its gradient was applied.

    `history`: rows with `worker`, `arrived` and `applied` (seconds), such as `TrainingResult.history`.
    """
    begins: dict[int, float] = {}
    found = []
    for worker, arrived, applied in history[["worker", "arrived", "applied"]].tolist():
        found.append(Span(worker, begins.get(worker, 0.0), arrived, applied))
        begins[worker] = applied
    return found


def waiting_share(history: np.ndarray) -> dict[int, float]:
    """Return worker -> the part of its time, 0 to 1, that it spent waiting for others."""
    waited, total = defaultdict(float), defaultdict(float)
    for span in spans(history):
        waited[span.worker] += span.applied - span.arrived
        total[span.worker] += span.applied - span.begin
    return {worker: waited[worker] / total[worker] if total[worker] > 0 else 0.0 for worker in sorted(waited)}


def timeline(histories: Mapping[str, np.ndarray], title: str, milliseconds: float = 100.0) -> Picture:
    """Return a `Picture` of the first `milliseconds` of each history in `histories` (name -> history), stacked.

    Workers' bars are solid while they compute and dotted while they wait; a diamond is an update of the parameters.
    """
    workers = {name: sorted(set(history["worker"].tolist())) for name, history in histories.items()}
    rows = max(map(len, workers.values())) + 1
    size = (7.2, 0.7 + 0.45 * rows * len(histories))
    with figure(nrows=len(histories), figsize=size, sharex=True, squeeze=False) as (fig, axes):
        for ax, (name, history) in zip(axes[:, 0], histories.items(), strict=True):
            _panel(ax, name, history, workers[name], milliseconds)
        axes[-1, 0].set_xlabel("milliseconds since the start")
        axes[0, 0].legend(*_key(), ncols=3, loc="lower right", bbox_to_anchor=(1, 1), fontsize=9)
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return picture(fig, f"{title}. {_in_words(histories)}")


def _panel(ax, name, history, workers, milliseconds):
    for span in spans(history):
        if span.begin * 1e3 > milliseconds:
            continue
        at, height = workers.index(span.worker), 0.7
        begin, arrived, applied = (1e3 * seconds for seconds in (span.begin, span.arrived, span.applied))
        ax.barh(at, arrived - begin, left=begin, height=height, color=worker_colour(span.worker))
        ax.barh(at, applied - arrived, left=arrived, height=height, linewidth=0.5, **_WAITS)
    updates = sorted({float(row["applied"]) * 1e3 for row in history})
    ax.plot(updates, [len(workers)] * len(updates), ROLES["ps"].marker, color=ROLES["ps"].colour, markersize=4)
    ax.set_yticks(range(len(workers) + 1), [f"{ROLES['worker'].sign} worker {w}" for w in workers] + ["◆ updates"])
    ax.set_xlim(0, milliseconds)
    ax.invert_yaxis()
    ax.set_title(name, fontsize=10.5, fontweight="normal")


def _key():
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    parts = [
        Patch(color=worker_colour(0)),
        Patch(**_WAITS),
        Line2D([], [], linestyle="", marker=ROLES["ps"].marker, color=ROLES["ps"].colour),
    ]
    return parts, ["computes", "waits", "an update"]


def _in_words(histories):
    def waits(history):
        return ", ".join(f"worker {worker} waits {share:.0%}" for worker, share in waiting_share(history).items())

    return "; ".join(f"{name}: {waits(history)}" for name, history in histories.items()) + " of its time."


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
    left, width = (span.start - first) / scale, (span.stop - span.start) / scale
    axes.barh(height, width, left=left, height=0.5, **bar_style(role, solid, hatch))
    words = getattr(span, "name", "") or span.what
    wide_enough = span.stop - span.start > 0.012 * length * len(words)  # else neighbours' words would run together
    if not solid and wide_enough:
        axes.annotate(words, (left + width / 2, height + 0.31), ha="center", color=colour, fontsize=9)
