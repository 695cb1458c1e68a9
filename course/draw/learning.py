"""Several trainings of one problem in one plot: how good they are, by images seen and by seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course.draw.colours import ROLES
from course.draw.picture import Picture, figure, picture

#: How the curves of a plot differ, in their order: role of the colour, marker and line as second signs.
_STYLES = [("ps", "D", "-"), ("waiting", "s", "--"), ("worker", "o", ":")]


@dataclass(frozen=True)
class Seen:
    """A look at the parameters of a training: after so many `images` and `seconds`, `accuracy` (0 to 1) held out."""

    images: int
    seconds: float
    accuracy: float


def learning(runs: Mapping[str, Sequence[Seen]], title: str, aim: float | None = None, alt: str = "") -> Picture:
    """Return a `Picture` of up to three trainings: accuracy by images seen at the left, by seconds at the right.

    `runs`: name -> list of `Seen`, in order. `aim`: an accuracy to draw as a line across.
    """
    if not 1 <= len(runs) <= len(_STYLES):
        raise ValueError(f"draw.learning(runs): {len(runs)} curves; 1 to {len(_STYLES)} can be told apart.")
    with figure(ncols=2, sharey=True, figsize=(7.2, 3.5)) as (fig, axes):
        for ax, field, unit in zip(axes, ("images", "seconds"), (1000, 1), strict=True):
            if aim is not None:
                ax.axhline(100 * aim, color=ROLES["bytes"].colour, linewidth=1)
            for (name, looks), (role, marker, line) in zip(runs.items(), _STYLES, strict=False):
                x, y = [getattr(look, field) / unit for look in looks], [100 * look.accuracy for look in looks]
                ax.plot(x, y, line, marker=marker, markersize=4, color=ROLES[role].colour, label=name)
        axes[0].set(xlabel="thousand images seen", ylabel="% of held-out digits right")
        axes[1].set(xlabel="seconds")
        axes[1].legend(loc="lower right", fontsize=9)
        fig.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    ends = (f"{name}: {looks[-1].accuracy:.1%} after {looks[-1].seconds:.2g} s" for name, looks in runs.items())
    return picture(fig, f"{title}. {alt or '; '.join(ends) + '.'}")
