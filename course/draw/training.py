"""Pictures of trainings: one by its fit, losses and staleness; several over images, seconds or distance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.draw.colours import ROLES, TEXT, compared, worker_colour
from course.draw.picture import Picture, figure, picture
from course.draw.scale import name_beside

_OLDEST = 8  # gradients at least this stale share one bar
_MARKS = ["o", "s", "^", "D", "v", "P"]  # the second sign of a worker's points, beside its shade


def training(
    history: np.ndarray,
    title: str,
    points: tuple[np.ndarray, np.ndarray] | None = None,
    line: tuple[float, float] | None = None,
    best: tuple[float, float] | None = None,
    alt: str = "",
) -> Picture:
    """Return a `Picture` of one training: loss per worker, staleness, and, given `points`, the fitted line.

    `history`: rows with `step`, `worker`, `version`, `loss`, such as `TrainingResult.history`. `points`: `(x, y)`;
    `line`, `best`: `(slope, intercept)` of the fitted line and of least squares.
    """
    panels = 3 if points is not None else 2
    with figure(title=title, ncols=panels, figsize=(7.2 if panels == 2 else 8.4, 3.2)) as (fig, axes):
        if points is not None:
            _fit(axes[0], points, line, best)
        draw_losses(axes[-2], history, over="step", points=120)
        axes[-2].set(xlabel="update", ylabel="loss of the batch")
        _staleness(axes[-1], history)
    return picture(fig, f"{title}. {alt}".strip())


@dataclass(frozen=True)
class Seen:
    """A look at the parameters of a training: after so many `images` and `seconds`, `accuracy` (0 to 1) held out."""

    images: int
    seconds: float
    accuracy: float


def learning(runs: Mapping[str, Sequence[Seen]], title: str, aim: float | None = None, alt: str = "") -> Picture:
    """Return a `Picture` of up to four trainings: accuracy by images seen at the left, by seconds at the right.

    `runs`: name -> list of `Seen`, in order. `aim`: an accuracy to draw as a line across.
    """
    looks = compared("draw.learning(runs)", runs)
    with figure(title=title, ncols=2, sharey=True, figsize=(7.2, 3.5)) as (fig, axes):
        for ax, field, unit in zip(axes, ("images", "seconds"), (1000, 1), strict=True):
            if aim is not None:
                ax.axhline(100 * aim, color=ROLES["bytes"].colour, linewidth=1)
            for name, run, look in looks:
                x, y = [getattr(point, field) / unit for point in run], [100 * point.accuracy for point in run]
                ax.plot(x, y, markersize=4, label=name, **look)
        axes[0].set(xlabel="thousand images seen", ylabel="% of held-out digits right")
        axes[1].set(xlabel="seconds")
        axes[1].legend(loc="lower right", fontsize=9)
    ends = (f"{name}: {run[-1].accuracy:.1%} after {run[-1].seconds:.2g} s" for name, run in runs.items())
    return picture(fig, f"{title}. {alt or '; '.join(ends) + '.'}")


def _fit(ax, points, line, best):
    x, y = points  # these, and the best line, belong to no role
    ends = [float(min(x)), float(max(x))]
    ax.plot(x, y, ".", color=TEXT, alpha=0.5, markersize=4)
    if best is not None:
        ax.plot(ends, [best[0] * at + best[1] for at in ends], "--", color=TEXT, label="least squares")
    if line is not None:
        ax.plot(ends, [line[0] * at + line[1] for at in ends], color=ROLES["ps"].colour, label="trained")
    ax.set(xlabel="x", ylabel="y")
    ax.legend(loc="upper left", fontsize=9, handlelength=1.6)


def look_of(worker: int) -> dict[str, str]:
    """Return the colour and the marker of a worker's points, as settings of matplotlib."""
    return {"color": worker_colour(worker), "marker": _MARKS[worker % len(_MARKS)]}


def of_workers(history: np.ndarray) -> dict[int, np.ndarray]:
    """Return worker -> its rows of a training's `history`, in the order of their numbers."""
    return {worker: history[history["worker"] == worker] for worker in sorted(set(history["worker"].tolist()))}


def draw_losses(ax: Any, history: np.ndarray, over: str, points: int) -> None:
    """Draw on `ax` each worker's losses over the column `over` of `history`, at most about `points` dots a worker."""
    for worker, rows in of_workers(history[np.isfinite(history["loss"])]).items():
        rows = rows[:: max(1, len(rows) // points)]  # more dots hide one another
        dots = {**look_of(worker), "linestyle": "None", "markersize": 2.5, "alpha": 0.8, "label": f"worker {worker}"}
        ax.plot(rows[over], rows["loss"], **dots)
    if len(history):
        ax.set_yscale("log")
        ax.legend(loc="upper right", fontsize=9, markerscale=2, handletextpad=0.1)


def _staleness(ax, history):
    stale = history["step"] - 1 - history["version"]
    values = range(min(int(stale.max(initial=0)), _OLDEST) + 1)
    shares = [100 * float((stale.clip(max=_OLDEST) == value).mean()) if len(stale) else 0.0 for value in values]
    names = [f"{value}+" if value == _OLDEST else str(value) for value in values]
    drawn = ax.bar(names, shares, color=ROLES["waiting"].colour, hatch="..", edgecolor="none")
    ax.bar_label(drawn, ["<1" if 0 < share < 1 else f"{share:.0f}" for share in shares], fontsize=8.5)
    ax.set(xlabel="staleness (updates)", ylabel="% of the gradients")


def distance(curves: Mapping[str, Mapping[float, float]], title: str, alone: float, label: str = "") -> Picture:
    """Return a `Picture` of up to four curves: name -> seconds, one way -> gradients a second.

    `alone`: what one worker beside its server makes, drawn as a thin line. `label`: where the figures are from. Raises
    ValueError for more curves than can be told apart.
    """
    looks = compared("draw.distance(curves)", curves)
    with figure(title=title, figsize=(7.2, 3.8)) as (fig, axes):
        axes.axhline(alone, color=ROLES["bytes"].colour, linewidth=1)
        last, heights = 1e3 * max(max(curve) for curve in curves.values()), _apart(curves)
        above = {"textcoords": "offset points", "fontsize": 9.5}
        axes.annotate("one worker, beside the server", (last, alone), xytext=(0, -12), ha="right", **above)
        for name, curve, look in looks:
            delays = sorted(curve)
            axes.plot([1e3 * delay for delay in delays], [curve[delay] for delay in delays], **look)
            name_beside(axes, name, (last, heights[name]), look)
        axes.set(ylim=(0, None), ylabel="gradients a second")
        axes.set_xlabel(f"milliseconds, one way{f'; {label}' if label else ''}")
        axes.grid(True)
    ends = (f"{name}: {curve[min(curve)]:,.0f} near, {curve[max(curve)]:,.0f} far" for name, curve in curves.items())
    return picture(fig, f"{title}. Gradients a second over the distance, {'; '.join(ends)}; alone {alone:,.0f}.")


def _apart(curves):
    """Return the height of each curve's name: at its end, or above the name below it."""
    gap = 0.075 * max(max(curve.values()) for curve in curves.values())
    heights: dict[str, float] = {}
    for name in sorted(curves, key=lambda name: curves[name][max(curves[name])]):
        end = curves[name][max(curves[name])]
        heights[name] = max(end, max(heights.values(), default=-gap) + gap)
    return heights
