"""Who waits: what the host and a device were busy with, one lane each, and what a stopwatch saw of it."""

from course.draw.colours import ROLES
from course.draw.picture import figure, picture

_LOOK = {
    "launch": ("cpu", None),
    "wait": ("waiting", "."),
    "set-up": ("gpu", "x"),
    "work": ("gpu", "/"),
}


def lanes(spans, readings, title):
    """Return a `Picture` of `spans` (each with lane, what, start, stop in seconds), host above GPU.

    `readings` are the two moments at which a stopwatch was read; `title` states what that shows. Spans of a pretend
    device: the axis says so.
    """
    heights = {"host": 1, "gpu": 0}
    with figure(figsize=(7.2, 2.3)) as (drawn, axes):
        for span in spans:
            role, hatch = _LOOK[span.what]
            colour = ROLES[role].colour
            solid = span.what == "launch"
            axes.barh(
                heights[span.lane],
                span.stop - span.start,
                left=span.start,
                height=0.5,
                facecolor=colour if solid else (colour, 0.35),
                edgecolor=colour,
                hatch=hatch,
                linestyle="-" if solid else "--",
            )
            if not solid:
                middle = (span.start + span.stop) / 2
                axes.annotate(span.what, (middle, heights[span.lane] + 0.31), ha="center", color=colour, fontsize=9)
        for reading in readings:
            axes.axvline(reading, color=ROLES["error"].colour, linewidth=1.5)
        axes.set_yticks([0, 1], labels=["GPU", "host"])
        axes.set_ylim(-0.4, 1.7)
        axes.set_xlabel("pretend seconds; red lines: the stopwatch is read")
        axes.set_title(title)
    return picture(drawn, f"{title}. {len(spans)} spans on two lanes, read at {_in_words(readings)} pretend seconds.")


def _in_words(readings):
    return " and ".join(f"{reading:g}" for reading in readings)
