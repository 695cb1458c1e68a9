"""Darts at a quarter disc, and the estimate of pi closing in as darts are added."""

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

import numpy as np

from course.draw.colours import ROLES, TEXT, compared
from course.draw.picture import Picture, figure, html, picture


def darts(x: np.ndarray, y: np.ndarray, running: Sequence[Any]) -> Picture:
    """Return a `Picture`: the darts (`x`, `y`, a few thousand at most) and the estimates `running` with their band.

    `running`: objects with `.samples`, `.value` and `.standard_error`, in order of samples; the last is the answer.
    """
    last = running[-1]
    inside = x * x + y * y < 1
    off = abs(last.value - pi) / last.standard_error
    finding = (
        f"{last.samples:,} darts: {abs(last.value - pi):.1g} from π, {off:.1f} standard errors; "
        f"{'inside' if off <= 2 else 'outside'} the band, which holds about 19 of 20 estimates."
    )
    with figure(ncols=2, width_ratios=[1, 1.5], figsize=(7.2, 3.3)) as (fig, (square, path)):
        square.scatter(x[inside], y[inside], s=4, marker="o", color=ROLES["worker"].colour, linewidths=0)
        square.scatter(x[~inside], y[~inside], s=7, marker="x", color=ROLES["bytes"].colour, linewidths=0.7)
        square.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
        square.set_xlabel("all darts" if len(x) == last.samples else f"{len(x):,} of the {last.samples:,} darts")
        samples = [e.samples for e in running]
        low, high = ([pi + sign * 2 * e.standard_error for e in running] for sign in (-1, 1))
        path.fill_between(samples, low, high, color=TEXT, alpha=0.15, linewidth=0)  # a band belongs to no role
        path.axhline(pi, color=TEXT, linewidth=1)
        path.plot(samples, [e.value for e in running], "o-", color=ROLES["worker"].colour, markersize=4, linewidth=1)
        path.set(xscale="log", xlabel="darts", ylabel="estimate")
        ticks = _ticks(samples[0], samples[-1])
        path.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks], minor=False)
        path.minorticks_off()
        path.set_title(f"{off:.1f} standard errors from π, band: ±2")
        path.title.set_fontsize(10.5)
    alt = f"Darts at a quarter disc; {finding}"
    body = picture(fig, alt).html + f'<div class="figure">{last.value:.6g} ± {last.standard_error:.1g}</div>'
    return html(f'{body}<p class="note">{finding}</p>', alt)


def _ticks(least, most):
    """Return 1, 2, 5, 10, … from `least` to `most`; over two powers of ten, and more, the powers alone."""
    steps = (1,) if most >= 100 * least else (1, 2, 5)
    return [step * 10**power for power in range(len(str(most))) for step in steps if least <= step * 10**power <= most]


def error_law(samples: Sequence[float], errors: Mapping[str, Sequence[float]], title: str) -> Picture:
    """Return a `Picture` of typical errors against samples, both logarithmic, a line a method.

    `errors`: method's name -> list of root-mean-square errors, one for each of `samples`; `title`: the finding.
    """
    with figure() as (fig, ax):
        for name, values, look in compared("draw.error_law(errors)", errors):
            ax.plot(samples, values, markersize=5, **look)
            end = samples[-1], values[-1]
            ax.annotate(name, end, xytext=(7, -3), textcoords="offset points", color=look["color"])
        ax.set(xscale="log", yscale="log", xlabel="darts", ylabel="root-mean-square error of pi", title=title)
        ax.margins(x=0.16)
    return picture(fig, f"{title}: error of pi against darts, both on logarithmic axes, for {', '.join(errors)}.")
