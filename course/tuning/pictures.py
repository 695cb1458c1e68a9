"""Pictures of searches: several side by side, the hyperparameters of one beside each other, and which of them matter.

The ranges and choices on the axes are Optuna's distributions. Its own plots (`optuna.visualization.matplotlib`: 140 ms
for the coordinates of 36 trials) are marked experimental, and have no words for those who don't see them.
"""

from collections.abc import Mapping

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from course.draw import ROLES, Picture, figure, picture
from course.draw.colours import METHODS
from course.tuning.result import Trial, TuningResult

_DONE = {"color": METHODS[0][0]}


def searches(results: Mapping[str, TuningResult], title: str, alt: str = "") -> Picture:
    """Return a `Picture` of up to four searches: name -> result; each trial a point, the best so far a line.

    Trials that have no value are left out of the points; a line begins with the first that has one. Raises ValueError
    for more than four results, for none, or for results of different metrics.
    """
    if not 1 <= len(results) <= len(METHODS):
        raise ValueError(f"searches(results): {len(results)} of them; 1 to {len(METHODS)} can be told apart.")
    metrics = {result.metric for result in results.values()}
    if len(metrics) > 1:
        raise ValueError(f"searches(results): of {', '.join(sorted(metrics))}; give results of one metric.")
    with figure(figsize=(7.2, 3.8)) as (fig, axes):
        for (name, result), (chosen, marker, line) in zip(results.items(), METHODS, strict=False):
            colour = chosen or axes.xaxis.label.get_color()
            points = [(trial.number + 1, trial.value) for trial in result.trials if trial.value is not None]
            if points:
                axes.plot(*zip(*points, strict=True), marker, color=colour, markersize=4, alpha=0.55)
            best = [(number, value) for number, value in enumerate(result.best_so_far(), 1) if value is not None]
            axes.step(*zip(*best, strict=True), line, color=colour, where="post", label=f"{name}: best so far")
        axes.set(xlabel="trial", ylabel=metrics.pop())
        if all(trial.value > 0 for result in results.values() for trial in result.ranked() if trial.value is not None):
            axes.set_yscale("log")
            low, high = axes.get_ylim()
            marks = [mark * 10**power for power in range(-12, 13) for mark in (1, 2, 3, 5)]
            marks = [mark for mark in marks if low <= mark <= high]
            axes.set_yticks(marks, labels=[f"{mark:g}" for mark in marks])
            axes.minorticks_off()
        axes.legend(fontsize=9)
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    ends = (f"{name}: {result.value:.4g} after {len(result.trials)} trials" for name, result in results.items())
    return picture(fig, f"{title}. {alt or '; '.join(ends) + '.'}")


def coordinates(result: TuningResult, title: str, alt: str = "") -> Picture:
    """Return a `Picture` of parallel coordinates: an axis for each searched hyperparameter, the metric at the right.

    Each trial is a line; the best fifth is thick and green, others are thin, those without a value dotted and
    without an end. Raises TuningError where no trial is done.
    """
    names, ranked = list(result.space.searched), result.ranked()
    best = {trial.number for trial in ranked[: max(1, len(ranked) // 5)]} | {result.best.number}
    values = [trial.value for trial in ranked if trial.value is not None]
    with figure(figsize=(7.2, 3.8)) as (fig, axes):
        for trial in sorted(result.trials, key=lambda trial: trial.number in best):
            heights = [_height(result, name, trial) for name in names]
            if trial.value is not None:
                heights.append(_share(trial.value, min(values), max(values), log=min(values) > 0))
            axes.plot(range(len(heights)), heights, **_look(trial, best, axes.xaxis.label.get_color()))
        for place, name in enumerate([*names, result.metric]):
            axes.axvline(place, color=ROLES["bytes"].colour, linewidth=1)
            for height, label in _ticks(result, name, values):
                axes.annotate(label, (place, height), (4, 0), textcoords="offset points", va="center", fontsize=8.5)
        axes.set_xticks(range(len(names) + 1), labels=[*names, result.metric])
        axes.set(yticks=[], xlim=(-0.1, len(names) + 0.35), ylim=(-0.06, 1.06))
        axes.spines[:].set_visible(False)
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return picture(fig, f"{title}. {alt or repr(result)}")


def importance(result: TuningResult, title: str, alt: str = "") -> Picture:
    """Return a `Picture` of `result.importances()` as bars; raises as that does."""
    shares = result.importances()
    with figure(figsize=(7.2, 0.5 * len(shares) + 1.4)) as (fig, axes):
        drawn = axes.barh(list(shares), [100 * share for share in shares.values()], height=0.6, **_DONE)
        axes.bar_label(drawn, [f"{share:.0%}" for share in shares.values()], padding=4)
        axes.invert_yaxis()
        axes.set(xlabel="% of what tells the best trials from all", xlim=(0, 108))
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    words = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return picture(fig, f"{title}. {alt or words}.")


def _look(trial, best, text):
    if trial.number in best:
        return {**_DONE, "linewidth": 2.4}
    return {"color": text, "alpha": 0.5, "linewidth": 0.8, "linestyle": "-" if trial.state == "done" else ":"}


def _height(result: TuningResult, name: str, trial: Trial) -> float:
    """Where on its axis the trial's value of a hyperparameter stands, from 0 to 1."""
    if name not in trial.parameters:
        return float("nan")  # its optimizer doesn't take it: the line has a gap
    distribution, value = result.space.searched[name], trial.parameters[name]
    if isinstance(distribution, CategoricalDistribution):
        return (distribution.choices.index(value) + 0.5) / len(distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    return _share(value, distribution.low, distribution.high, distribution.log)


def _share(value, low, high, log):
    """How far `value` is on the way from `low` to `high`, from 0 to 1; 0.5 where these are the same."""
    if log:
        value, low, high = np.log([value, low, high]).tolist()
    return (value - low) / (high - low) if high > low else 0.5


def _ticks(result, name, values):
    """Heights and labels of one axis: its ends, or its choices."""
    if name not in result.space.searched:
        ends = sorted({min(values), max(values)})
        return [(_share(end, ends[0], ends[-1], log=False), f"{end:.3g}") for end in ends]
    distribution = result.space.searched[name]
    if isinstance(distribution, CategoricalDistribution):
        choices = distribution.choices
        return [((place + 0.5) / len(choices), str(choice)) for place, choice in enumerate(choices)]
    return [(0.0, f"{distribution.low:g}"), (1.0, f"{distribution.high:g}")]
