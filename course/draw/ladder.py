"""A ladder: versions of one program, each faster than the one below, on a log axis against the machine's limit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from course.draw.colours import ROLES
from course.draw.picture import Picture, figure, picture

_POINTS = {"textcoords": "offset points", "fontsize": 9.5}


@dataclass(frozen=True)
class Rung:
    """One version: its `name`, its `rate` a second, a short `note`."""

    name: str
    rate: float
    note: str = ""


@dataclass(frozen=True, repr=False)
class Ladder:
    """Versions of one program that do the same, the first one lowest; `unit` names what their rates count."""

    unit: str
    rungs: tuple[Rung, ...] = ()

    def climb(self, name: str, rate: float, note: str = "") -> "Ladder":
        """Return this ladder with one rung more, of `rate` a second. Raises ValueError for a rate of 0 or less."""
        if not rate > 0:
            raise ValueError(f"climb({name!r}, rate={rate!r}): a number above 0 is needed.")
        return replace(self, rungs=(*self.rungs, Rung(name, rate, note)))

    @property
    def gains(self) -> tuple[float, ...]:
        """Each rung's rate divided by that of the rung below; 1 for the first."""
        rates = [rung.rate for rung in self.rungs]
        return tuple(rate / below for rate, below in zip(rates, [*rates[:1], *rates], strict=False))

    def __repr__(self):
        if not self.rungs:
            return f"a ladder without rungs, in {self.unit} a second"
        top, gain = self.rungs[-1], self.gains[-1]
        words = f"{top.name}: {spoken(top.rate)} {self.unit} a second"
        words += f", {times(gain)} the rung below" if len(self.rungs) > 1 else ""
        return words + (f" ({top.note})" if top.note else "")


def times(factor: float) -> str:
    """Return a factor in words, in two or three digits; a factor below 1 is a fraction.

    >>> times(1.96), times(37.2), times(10_501), times(0.064)
    ('2.0 ×', '37 ×', '10,500 ×', '1/16 ×')
    """
    if factor < 0.95:
        return f"1/{times(1 / factor)}"
    return f"{factor:.1f} ×" if factor < 9.95 else f"{float(f'{factor:.3g}'):,.0f} ×"


def spoken(rate: float) -> str:
    """Return a rate in two or three digits and a word for its thousands.

    >>> spoken(2.807e6), spoken(45.3e6), spoken(3.45e10), spoken(12)
    ('2.8 million', '45 million', '34 billion', '12')
    """
    sizes = {" billion": 1e9, " million": 1e6, " thousand": 1e3}
    word = next((word for word, size in sizes.items() if rate >= 0.9995 * size), "")
    scaled = rate / sizes.get(word, 1)
    return f"{scaled:.1f}{word}" if scaled < 9.95 else f"{scaled:,.0f}{word}"


def ladder(climbed: Ladder, limit: float, meaning: str) -> Picture:
    """Return a `Picture` of `climbed`, a step a rung, with `limit` (a second) as a line and its `meaning` beside it.

    A step is as long as its gain, on an axis where each line is ten times the one before; a step back is dotted. Raises
    ValueError for a ladder of fewer than two rungs.
    """
    rungs = climbed.rungs
    if len(rungs) < 2:
        raise ValueError(f"ladder(climbed={climbed!r}): climb two rungs or more, then draw them.")
    best = max(rung.rate for rung in rungs)
    title = f"{times(best / rungs[0].rate)} the first rung, {times(limit / best)} to the limit"
    with figure(figsize=(7.2, 0.58 * len(rungs) + 1.5)) as (drawn, axes):
        axes.set(xscale="log", ylim=(-0.5, len(rungs) + 0.6), xlim=_ends(rungs, limit))
        axes.grid(axis="x")
        for height, (rung, gain) in enumerate(zip(rungs, climbed.gains, strict=True)):
            _step(axes, height, rung, gain)
        _limit(axes, len(rungs), limit, best, meaning)
        _columns(axes, climbed, limit)
        axes.set_xlabel(f"{climbed.unit} a second (each line is ten times the one before)")
        axes.set_title(title)
    steps = "; ".join(f"{rung.name} {spoken(rung.rate)}" for rung in rungs)
    return picture(drawn, f"{climbed.unit} a second: {title}. {steps}; limit {spoken(limit)} ({meaning}).")


def _ends(rungs: Sequence[Rung], limit: float) -> tuple[float, float]:
    """Return the lowest and the highest rate to show, with room at both ends."""
    shown = [limit, *(rung.rate for rung in rungs)]
    return min(shown) / 2, max(shown) * 1.5


def _step(axes, height, rung, gain):
    """Draw one rung, from where the one below ended; its gain above it."""
    colour, marker = ROLES["cpu"].colour, ROLES["cpu"].marker
    below = rung.rate / gain
    if height:
        axes.plot([below] * 2, [height - 1, height], color=colour, linewidth=1)
        back = gain < 1
        axes.plot([below, rung.rate], [height] * 2, ":" if back else "-", color=colour, linewidth=3 if back else 6)
        end = max(below, rung.rate)  # left of the upright that leads on
        axes.annotate(times(gain), (end, height), (-5, 6), **_POINTS, ha="right", va="bottom")
    axes.plot(rung.rate, height, marker, color=colour, markersize=8)


def _limit(axes, height, limit, best, meaning):
    """Draw the limit as an upright line, what it is beside its head, and the way that is left to it."""
    ink = axes.title.get_color()
    axes.axvline(limit, color=ink, linewidth=1.5, linestyle="--")
    axes.plot([best, limit], [height - 1] * 2, ":", color=ROLES["bytes"].colour, linewidth=1.5)
    axes.annotate(meaning, (limit, height), (-7, 0), textcoords="offset points", ha="right", va="center")


def _columns(axes, climbed, limit):
    """Write names to the left of the steps and rates to the right, the limit's above the last."""
    names = [f"{rung.name}\n{rung.note}" if rung.note else rung.name for rung in climbed.rungs]
    axes.set_yticks(range(len(names) + 1), labels=[*names, "the limit"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    rates = [spoken(rung.rate) for rung in climbed.rungs]
    for height, words in enumerate([*rates, spoken(limit)]):
        axes.annotate(words, (1.02, height), xycoords=axes.get_yaxis_transform(), va="center", annotation_clip=False)
