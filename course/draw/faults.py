"""A training that was hit: loss, version and staleness against time, and each event written at its second."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course.draw.colours import ROLES, worker_colour
from course.draw.picture import Picture, figure, picture
from course.draw.training import draw_losses, look_of, of_workers

_POINTS = 120  # dots drawn for one worker at most: more hide one another, and a live picture is drawn often
_BINS = 60  # stretches of time over which staleness is averaged
_ROWS = 5  # rows of labels above the lanes; an event that finds none keeps its line
_LETTER = 1 / 96  # the width of a letter, as a part of a lane's
_QUIET = "saved"  # a checkpoint is a tick on the version's lane: there are many
_GOOD = ("joined", "restored", "thawed", "again")


def faults(
    history: np.ndarray,
    events: Sequence[Any],
    title: str,
    until: float | None = None,
    lives: Mapping[str, Sequence[tuple[float, float, str]]] | None = None,
) -> Picture:
    """Return a `Picture` of a training in three lanes (loss, version, staleness), with `events` as marks across them.

    - `history`: rows with `step`, `worker`, `version`, `loss`, `applied` (seconds), such as `TrainingResult.history`.
    - `events`: each with `seconds`, `what`, `task` ("" for none) and `step`, such as `TrainingResult.events`; a mark
      has its words at the top, "checkpoint saved" is only a tick on the version's lane.
    - `until`: seconds at which the picture ends; by default after the last row or event.
    - `lives`: task -> (begin, end, "works", "waits", "frozen" or "dead"), in seconds: a lane above for each process.
    """
    marked = sorted((event for event in events if _QUIET not in event.what), key=lambda event: event.seconds)
    last = until or max([*history["applied"][-1:].tolist(), *(event.seconds for event in marked), 1e-3])
    placed = _places(marked, last)
    rows = max(placed.values(), default=-1) + 1
    own = lives or {}
    ratios = [*([0.32 * len(own)] if own else []), 1.3, 1, 1]
    tall = 3.9 + 0.2 * rows + 0.4 * len(own)
    with figure(title=title, nrows=len(ratios), sharex=True, figsize=(7.2, tall), height_ratios=ratios) as (fig, whole):
        if own:
            _lives(whole[0], own)
        axes = whole[-3:]
        draw_losses(axes[0], history, over="applied", points=_POINTS)
        axes[0].set_ylabel("loss")
        _versions(axes[1], history, [event for event in events if _QUIET in event.what])
        _staleness(axes[2], history, last)
        for event in marked:
            _mark(whole, event, placed.get(id(event)), last)
        axes[2].set(xlabel="seconds", xlim=(0, 1.01 * last))
        fig.align_ylabels(axes)
    words = "; ".join(f"at {event.seconds:.1f} s: {words_of(event)}" for event in marked)
    return picture(fig, f"{title}. {words or 'Nothing was lost'}.")


def words_of(event: Any) -> str:
    """Return what happened, in words: of a task with its short name in front, of a restore with its step.

    >>> from types import SimpleNamespace
    >>> words_of(SimpleNamespace(what="worker lost", task="/job:worker/task:1", step=90))
    'worker 1 lost'
    >>> words_of(SimpleNamespace(what="restored", task="", step=700))
    'restored from step 700'
    """
    if event.what == "restored":
        return f"restored from step {event.step}"
    job, _, index = event.task.removeprefix("/job:").partition("/task:")
    change = event.what.removeprefix(f"{job} ")
    return f"{job} {index} {change}" if index else change


def _places(events, last):
    """Return id of event -> the lowest row in which its words touch no other's; events without one are left out."""
    taken, placed = [-1.0] * _ROWS, {}
    for event in events:
        begin, end = _extent(event, last)
        free = [row for row in range(_ROWS) if taken[row] <= begin]
        if free:
            placed[id(event)] = free[0]
            taken[free[0]] = end
    return placed


def _extent(event, last):
    """Return where the event's words begin and end, as parts of the lane; near the right edge they stand left of it."""
    at, width = event.seconds / last, _LETTER * (len(words_of(event)) + 4)
    return (at, at + width) if at + width <= 1 else (at - width, at)


def _mark(axes, event, row, last):
    good = any(word in event.what for word in _GOOD)
    role = ROLES["ps" if good else "error"]
    for ax in axes:
        ax.axvline(event.seconds, color=role.colour, linewidth=1.2, linestyle="-" if good else "--")
    if row is None:
        return
    words, is_left = words_of(event), _extent(event, last)[0] < event.seconds / last
    text, side = (f"{words} {role.sign}", "right") if is_left else (f"{role.sign} {words}", "left")
    look = {"ha": side, "color": role.colour, "fontsize": 9, "annotation_clip": False}
    axes[0].annotate(text, (event.seconds, 1.03 + 0.145 * row), xycoords=("data", "axes fraction"), **look)


def _lives(ax, lives):
    """Draw a lane a process: working as a bar, waiting as dots, frozen as an outline, dead as a cross and a line."""
    names = []
    for row, (task, stretches) in enumerate(lives.items()):
        job, _, index = task.removeprefix("/job:").partition("/task:")
        names.append(f"{ROLES['ps' if job == 'ps' else 'worker'].sign} {job} {index}")
        colour = ROLES["ps"].colour if job == "ps" else worker_colour(int(index))
        for begin, end, state in stretches:
            if state in ("works", "frozen"):
                frozen = {"fill": False, "edgecolor": colour, "linestyle": "--"}
                look = {"color": colour} if state == "works" else frozen
                ax.barh(row, end - begin, left=begin, height=0.5, **look)
            elif state == "waits":
                ax.plot([begin, end], [row, row], ":", color=ROLES["waiting"].colour, linewidth=3)
            else:
                ax.plot([begin, end], [row, row], "--", color=ROLES["error"].colour, linewidth=1.2)
                ax.plot([begin], [row], "x", color=ROLES["error"].colour, markersize=9)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)


def _versions(ax, history, saved):
    thin = history[:: max(1, len(history) // _POINTS)]
    ax.plot(thin["applied"], thin["step"], color=ROLES["ps"].colour, drawstyle="steps-post")
    ax.plot([e.seconds for e in saved], [e.step for e in saved], "|", color=ROLES["ps"].colour, markersize=12)
    if saved:
        look = {"color": ROLES["ps"].colour, "fontsize": 9, "va": "center"}
        ax.annotate("| checkpoint", (0.01, 0.84), xycoords="axes fraction", **look)
    ax.set_ylabel("version")
    ax.set_ylim(bottom=0)


def _staleness(ax, history, last):
    """Draw each worker's mean staleness over stretches of time; where it pushed nothing, there is no line."""
    edges = np.linspace(0, last, _BINS + 1)
    for worker, rows in of_workers(history).items():
        count, _ = np.histogram(rows["applied"], edges)
        total, _ = np.histogram(rows["applied"], edges, weights=rows["step"] - 1 - rows["version"])
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        ax.plot((edges[1:] + edges[:-1]) / 2, mean, linewidth=1.5, markersize=3, **look_of(worker))
    ax.set_ylabel("staleness")
    ax.set_ylim(0, max(1.0, ax.get_ylim()[1]))  # where nothing is late there is no scale
