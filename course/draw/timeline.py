"""Who computes, who waits: one row a worker, one bar a gradient, the parameter server's updates as marks below."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.draw.colours import ROLES, worker_colour
from course.draw.picture import Picture, figure, picture

_WAITS: dict[str, Any] = {"facecolor": "none", "edgecolor": ROLES["waiting"].colour, "hatch": "..."}


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
    for row in history:
        worker, arrived, applied = int(row["worker"]), float(row["arrived"]), float(row["applied"])
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
    said = []
    for name, history in histories.items():
        shares = ", ".join(f"worker {worker} waits {share:.0%}" for worker, share in waiting_share(history).items())
        said.append(f"{name}: {shares}")
    return "; ".join(said) + " of its time."
