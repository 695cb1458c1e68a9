"""The roofline: how many operations a second an op can reach, by how many it does for each byte."""

from collections.abc import Sequence
from typing import Any

from course.draw.colours import ROLES, role_of
from course.draw.picture import Picture, figure, picture


def roofline(
    roof: Any, points: Sequence[Any] = (), title: str = "", sizes: Sequence[tuple[float, float]] = ()
) -> Picture:
    """Return a `Picture` of `roof`, a `course.timing.Roofline`, and the ops under it, each a `course.timing.Point`.

    - Both axes are powers of ten: operations a byte, and GFLOP/s. The roof is dashed and a point hollow unless it was
      measured on this machine; the line below the axis says what they are. An op above the roof found its numbers in a
      cache, which is faster than memory.
    - `title`: the finding; by default what holds the ops back. `sizes`: (operations a byte, operations a second) of one
      op at several sizes, a thin line.
    """
    role = role_of(roof.device)
    title = title or _title(roof, points)
    low, high = _range(roof, [*(point.intensity for point in points), *(intensity for intensity, _ in sizes)])
    with figure(figsize=(7.2, 4.4)) as (drawn, axes):
        axes.set(xscale="log", yscale="log", xlim=(low, high))
        style, ends = "-" if roof.kind == "measured" else "--", [low, roof.ridge, high]
        axes.plot(ends, [roof.bound(x) / 1e9 for x in ends], style, color=role.colour)
        axes.axvline(roof.ridge, color=ROLES["bytes"].colour, linewidth=1, linestyle=":")
        _name_the_roof(axes, roof, low, high, role.colour)
        along = [(intensity, speed / 1e9) for intensity, speed in sizes]
        if along:
            look = {"color": role.colour, "linewidth": 1, "marker": ".", "markerfacecolor": "none"}
            axes.plot(*zip(*along, strict=True), **look)
        for number, point in enumerate(sorted(points, key=lambda p: p.intensity)):
            _mark(axes, roof, point, number)
        bottom = min([roof.bound(low) / 1e9, *(p.speed / 1e9 for p in points), *(speed for _, speed in along)])
        axes.set_ylim(bottom / 3, roof.peak / 1e9 * 4)
        axes.set_xlabel(f"operations a byte\n{roof.device} {roof.dtype}, {roof.label}")
        axes.set_ylabel("GFLOP/s")
        axes.set_title(title)
    listing = "; ".join(
        f"{p.label} {p.intensity:.3g} operations a byte, {_rate(p.speed, 'FLOP/s')} ({p.kind})" for p in points
    )
    peak = _rate(roof.peak, "FLOP/s")
    return picture(drawn, f"{title}. {roof.label}: peak {peak}, ridge {roof.ridge:.3g}. {listing}".rstrip())


def _title(roof, points):
    """Return the finding: how many of the ops memory holds back, or where the ridge lies when there are none."""
    word = "" if roof.kind == "measured" else f" ({roof.kind})"
    if not points:
        return f"Below {roof.ridge:.3g} operations a byte, memory is the limit{word}"
    held = sum(roof.limit(p.intensity) == "memory" for p in points)
    return f"Memory is the limit of {held} of {len(points)} ops, arithmetic of {len(points) - held}{word}"


def _range(roof, intensities):
    """Return the lowest and the highest intensity to show: all of them and the ridge, with room at both ends."""
    shown = [roof.ridge, *intensities]
    return min(0.05, *shown) / 2, max(100, *shown) * 8


def _name_the_roof(axes, roof, low, high, colour):
    def say(text, intensity, offset, ha, colour=colour):
        place = (intensity, roof.bound(intensity) / 1e9)
        axes.annotate(text, place, offset, ha=ha, textcoords="offset points", color=colour, fontsize=9)

    say(_rate(roof.peak, "FLOP/s"), high, (-4, 6), "right")
    middle = (low * roof.ridge**2) ** (1 / 3)  # two thirds of the slope: to its left there is room
    say(f"memory: {_rate(roof.bandwidth, 'B/s')}", middle, (-8, 4), "right")
    say(f"ridge: {roof.ridge:.3g}", roof.ridge, (0, 8), "center", ROLES["bytes"].colour)


def _mark(axes, roof, point, number):
    """Draw one op, its name beside it (neighbours take turns above and below), a line up to the roof above it."""
    role = role_of(roof.device)
    measured = point.kind == "measured"
    height, top = point.speed / 1e9, roof.bound(point.intensity) / 1e9
    axes.plot([point.intensity] * 2, sorted([height, top]), color=ROLES["bytes"].colour, linewidth=1)
    fill = role.colour if measured else "none"
    axes.plot([point.intensity], [height], role.marker, color=role.colour, markerfacecolor=fill, markersize=7)
    name = point.label if measured else f"{point.label} ({point.kind})"
    place = (8, -4) if number % 2 == 0 else (8, -15)
    axes.annotate(name, (point.intensity, height), place, textcoords="offset points", fontsize=9)


def _rate(value, unit):
    return f"{value / 1e12:.3g} T{unit}" if value >= 1e12 else f"{value / 1e9:.3g} G{unit}"
