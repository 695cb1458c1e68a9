"""Gradients a second over the number of workers, on two log axes: where does each design stop growing?"""

from collections.abc import Mapping

from course.draw.colours import ROLES
from course.draw.picture import Picture, figure, picture

#: How the curves differ, in their order: role of the colour, marker and line as second signs.
_STYLES = [("ps", "D", "-"), ("cpu", "s", "--"), ("gpu", "^", "-."), ("worker", "o", ":")]


def breaks_at(curve: Mapping[int, float]) -> int:
    """Return the least number of workers that makes nine tenths of what the curve ever reaches."""
    most = max(curve.values())
    return min(count for count, rate in curve.items() if rate >= 0.9 * most)


def scale(rates: Mapping[str, Mapping[int, float]], title: str, label: str, alt: str = "") -> Picture:
    """Return a `Picture` of up to four designs: name -> workers -> gradients a second.

    A thin line shows what the quickest single worker would make if as many never waited; a circle stands where a
    design makes nine tenths of its most. `label`: where the figures come from, such as `Figure.label`. Raises
    ValueError for more designs than can be told apart.
    """
    if not 1 <= len(rates) <= len(_STYLES):
        raise ValueError(f"draw.scale(rates): {len(rates)} curves; 1 to {len(_STYLES)} can be told apart.")
    with figure(figsize=(7.2, 4.2)) as (fig, axes):
        counts = sorted({count for curve in rates.values() for count in curve})
        alone = max(curve[min(curve)] / min(curve) for curve in rates.values())
        axes.plot(counts, [alone * count for count in counts], color=ROLES["bytes"].colour, linewidth=1)
        middle = counts[len(counts) // 2]
        axes.annotate("nobody waits", (middle, alone * middle), xytext=(-6, 4), textcoords="offset points", ha="right")
        for (name, curve), (role, marker, line) in zip(rates.items(), _STYLES, strict=False):
            colour, last = ROLES[role].colour, max(curve)
            axes.plot(list(curve), list(curve.values()), line, marker=marker, markersize=4, color=colour)
            place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "color": colour}
            axes.annotate(name, (last, curve[last]), annotation_clip=False, **place)
            broken = breaks_at(curve)
            if broken < last:
                axes.plot(broken, curve[broken], "o", markersize=11, fillstyle="none", color=colour)
        axes.set(xscale="log", yscale="log", ylabel="gradients a second")
        axes.set_xlabel(f"workers, a core for each; a circle: no more from here on\n{label}")
        axes.grid(True)
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    ends = (f"{name}: {curve[max(curve)]:,.0f} with {max(curve):,} workers" for name, curve in rates.items())
    return picture(fig, f"{title}. Gradients a second, {label}. {alt or '; '.join(ends) + '.'}")
