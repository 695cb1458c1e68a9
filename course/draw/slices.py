"""Slices and their means: a bar as wide as its slice's size and as high as its mean has the slice's sum as its area."""

from dataclasses import dataclass
from math import isclose, isnan

from course.draw.colours import ROLES, worker_colour
from course.draw.picture import Picture, figure, html, picture


@dataclass(frozen=True)
class SliceMeans:
    """`values` in order, in slices of `sizes` with `means`; `weighted`: the mean of all, by size."""

    values: tuple[float, ...]
    sizes: tuple[int, ...]
    means: tuple[float, ...]
    weighted: float

    @property
    def naive(self) -> float:
        """The average of the slices' means, as if all weighed the same; nan where a slice is empty."""
        return sum(self.means) / len(self.means)

    @property
    def agree(self) -> bool:
        """Whether averaging the means gives the mean."""
        return isclose(self.naive, self.weighted, rel_tol=1e-9, abs_tol=1e-12)

    @property
    def finding(self) -> str:
        """What averaging the means does here, as a sentence without its full stop."""
        if isnan(self.naive):
            return "An empty slice has no mean, so there is nothing to average"
        if self.agree:
            return "Averaging the means happens to be right here"
        return f"Averaging the means is off by {self.naive - self.weighted:+.4g}"


def slice_means(result: SliceMeans) -> Picture:
    """Return the `Picture` of a `SliceMeans`: slices as bars, the two ways to join them as lines across."""
    with figure() as (fig, ax):
        _bars(ax, result)
        ends = [-0.01 * len(result.values), 1.01 * len(result.values)]
        naive_above = result.naive > result.weighted
        _level(ax, ends, result.weighted, "weighted", "-", ROLES["ps"].colour, above=not naive_above)
        if not isnan(result.naive):
            _level(ax, ends, result.naive, "averaged", "--", ROLES["error"].colour, above=naive_above)
        room = 0.45 * (max(0, *result.values) - min(0, *result.values)) or 1  # for the labels at the top
        ax.set_ylim(min(0, *result.values), max(0, *result.values) + room)
        ax.set(xlabel="position in the data", ylabel="value", title=result.finding)
        ax.xaxis.get_major_locator().set_params(integer=True)
    number = f"{result.weighted:.4g}" if result.agree else f"{result.naive:.4g} is not {result.weighted:.4g}"
    words = f"Averaged, the slices' means give {result.naive:.4g}; weighted by size, {result.weighted:.4g}."
    alt = f"{result.finding}. Slices of {' and '.join(map(str, result.sizes))} numbers. {words}"
    body = f'{picture(fig, alt).html}<div class="figure">{number}</div><p class="note">{result.finding}. {words}</p>'
    return html(body, alt)


def _bars(ax, result):
    start = 0
    for index, (size, mean) in enumerate(zip(result.sizes, result.means, strict=True)):
        if size:
            ax.bar(start, mean, size, align="edge", color=worker_colour(index), alpha=0.4, edgecolor="none")
            own = range(start, start + size)
            ax.plot([i + 0.5 for i in own], [result.values[i] for i in own], "o", color=worker_colour(index), ms=4)
            at_right = start + size > len(result.values) - 1 and index > 0
            corner, side = (start + size, "right") if at_right else (start, "left")
            offset = (0, -12 - 16 * index)  # a line each: a narrow slice's label runs over its neighbour
            look = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": side}
            ax.annotate(f"slice {index}: {size} numbers, mean {mean:.4g}", (corner, 1), offset, **look)
        start += size


def _level(ax, ends, level, name, style, colour, above):
    ax.plot(ends, [level, level], style, color=colour)
    text, offset = f"{name} {level:.4g}", (4, 2 if above else -10)
    ax.annotate(text, (ends[1], level), offset, textcoords="offset points", color=colour, annotation_clip=False)
