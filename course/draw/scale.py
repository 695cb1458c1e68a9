"""What more load does: gradients a second over the number of workers, latency over requests a second."""

from collections.abc import Mapping
from typing import Any

from course.draw.colours import ROLES, compared
from course.draw.picture import Picture, figure, picture


def breaks_at(curve: Mapping[int, float]) -> int:
    """Return the least number of workers that makes nine tenths of the curve's largest rate."""
    most = max(curve.values())
    return min(count for count, rate in curve.items() if rate >= 0.9 * most)


def scale(rates: Mapping[str, Mapping[int, float]], title: str, label: str, alt: str = "") -> Picture:
    """Return a `Picture` of up to four designs: name -> workers -> gradients a second.

    A thin line shows what the quickest single worker would make if as many never waited; a circle stands where a
    design makes nine tenths of its most. `label`: where the figures come from, such as `Figure.label`. Raises
    ValueError for more designs than can be told apart.
    """
    looks = compared("draw.scale(rates)", rates)
    with figure(title=title, figsize=(7.2, 4.2)) as (fig, axes):
        counts = sorted({count for curve in rates.values() for count in curve})
        alone = max(curve[min(curve)] / min(curve) for curve in rates.values())
        axes.plot(counts, [alone * count for count in counts], color=ROLES["bytes"].colour, linewidth=1)
        middle = counts[len(counts) // 2]
        axes.annotate("nobody waits", (middle, alone * middle), xytext=(-6, 4), textcoords="offset points", ha="right")
        for name, curve, look in looks:
            last, broken = max(curve), breaks_at(curve)
            axes.plot(list(curve), list(curve.values()), markersize=4, **look)
            name_beside(axes, name, (last, curve[last]), look)
            if broken < last:
                axes.plot(broken, curve[broken], "o", markersize=11, fillstyle="none", color=look["color"])
        axes.set(xscale="log", yscale="log", ylabel="gradients a second")
        axes.set_xlabel(f"workers, a core for each; a circle: no more from here on\n{label}")
        axes.grid(True)
    ends = (f"{name}: {curve[max(curve)]:,.0f} with {max(curve):,} workers" for name, curve in rates.items())
    return picture(fig, f"{title}. Gradients a second, {label}. {alt or '; '.join(ends) + '.'}")


def latency(
    curves: Mapping[str, Mapping[float, float]], title: str, alone: float, alt: str = "", percent: int = 99
) -> Picture:
    """Return a `Picture` of up to four curves: name -> requests a second -> seconds, on a log axis of milliseconds.

    `alone`: the seconds of a request that nobody else is in the way of, drawn as a thin line. `percent`: how many of
    100 requests are answered within those seconds. Raises ValueError for more curves than can be told apart.
    """
    looks = compared("draw.latency(curves)", curves)
    with figure(title=title, figsize=(7.2, 3.8)) as (fig, axes):
        axes.axhline(1e3 * alone, color=ROLES["bytes"].colour, linewidth=1)
        least = min(min(curve) for curve in curves.values())
        axes.annotate("alone", (least, 1e3 * alone), xytext=(0, -8), textcoords="offset points", va="center")
        for name, curve, look in looks:
            rates = sorted(curve)
            axes.plot(rates, [1e3 * curve[rate] for rate in rates], markersize=5, **look)
            name_beside(axes, name, (rates[-1], 1e3 * curve[rates[-1]]), look)
        axes.set(yscale="log", xlabel="requests a second that were answered", ylabel=f"{percent} of 100 within, ms")
        axes.set_ylim(bottom=500 * alone)
        low, high = axes.get_ylim()
        marks = [mark * 10.0**power for power in range(-3, 6) for mark in (1, 2, 5)]
        marks = [mark for mark in marks if low <= mark <= high]
        axes.set_yticks(marks, labels=[f"{mark:g}" for mark in marks])
        axes.minorticks_off()
        axes.grid(True)
    ends = (f"{name}: {1e3 * curve[max(curve)]:.1f} ms at {max(curve):,.0f} a second" for name, curve in curves.items())
    return picture(fig, f"{title}. {percent} of 100 requests are answered within, {alt or '; '.join(ends) + '.'}")


def name_beside(axes: Any, name: str, end: tuple[float, float], look: Mapping[str, str]) -> None:
    """Write a curve's `name` right of its `end`, in the colour of its `look`."""
    place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "color": look["color"]}
    axes.annotate(name, end, annotation_clip=False, **place)
