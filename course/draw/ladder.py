"""A ladder: versions of one program, each faster than the one below, on a log axis against the machine's limit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from course.draw.colours import ROLES
from course.draw.picture import Picture, figure, picture

_ROOM = 0.45  # a rung that begins left of this part of the axis has its words on its right


@dataclass(frozen=True)
class Rung:
    """One version: its `name`, its `rate` a second, the `guess` at its gain (None: not made), a short `note`."""

    name: str
    rate: float
    guess: float | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class Ladder:
    """Versions of one program that do the same, the first one lowest; `unit` is what they do so many of a second."""

    unit: str
    rungs: tuple[Rung, ...] = ()

    def climb(self, name: str, rate: float, guess: float | None = None, note: str = "") -> "Ladder":
        """Return this ladder with one rung more, on top.

        `rate`: how many a second. `guess`: how many times the rung below the reader thought it would be. Raises
        ValueError for a rate or a guess that is not above 0.
        """
        for word, value in (("rate", rate), ("guess", 1 if guess is None else guess)):
            if not value > 0:
                raise ValueError(f"climb({name!r}, {word}={value!r}): a number above 0 is needed.")
        return replace(self, rungs=(*self.rungs, Rung(name, rate, guess, note)))

    @property
    def gains(self) -> tuple[float, ...]:
        """How many times the rung below each rung makes; the first has none below it, and 1."""
        rates = [rung.rate for rung in self.rungs]
        return tuple(rate / below for rate, below in zip(rates, [*rates[:1], *rates], strict=False))

    def __repr__(self):
        if not self.rungs:
            return f"a ladder without rungs, in {self.unit} a second"
        top, gain = self.rungs[-1], self.gains[-1]
        words = f"{top.name}: {spoken(top.rate)} {self.unit} a second"
        words += f", {times(gain)} the rung below" if len(self.rungs) > 1 else ""
        words += f"; you said {times(top.guess)}" if top.guess is not None else ""
        return words + (f" ({top.note})" if top.note else "")


def times(factor: float) -> str:
    """Return a factor as it is spoken of: two digits, or whole.

    >>> times(0.1834), times(1.96), times(37.2), times(1234.5)
    ('0.18 ×', '2.0 ×', '37 ×', '1,234 ×')
    """
    if factor < 1:
        return f"{factor:.2g} ×"
    return f"{factor:.1f} ×" if factor < 10 else f"{factor:,.0f} ×"


def spoken(rate: float) -> str:
    """Return a rate in two or three digits and a word for its thousands.

    >>> spoken(2.807e6), spoken(45.3e6), spoken(3.45e10), spoken(12)
    ('2.8 million', '45 million', '34 billion', '12')
    """
    for word, size in ((" billion", 1e9), (" million", 1e6), (" thousand", 1e3), ("", 1)):
        if rate >= 0.9995 * size:
            break
    scaled = rate / size
    return f"{scaled:.1f}{word}" if scaled < 9.95 else f"{scaled:,.0f}{word}"


def ladder(climbed: Ladder, limit: float, what: str) -> Picture:
    """Return a `Picture` of `climbed`, a step a rung, with `limit` (a second) as a line that is labelled with `what`.

    A step is as long as its gain, on an axis where each line is ten times the one before. A guess is a ring where it
    would have led. Raises ValueError for a ladder of fewer than two rungs.
    """
    rungs = climbed.rungs
    if len(rungs) < 2:
        raise ValueError(f"ladder(climbed={climbed!r}): climb two rungs or more, then draw them.")
    first, best = rungs[0].rate, max(rung.rate for rung in rungs)
    title = f"{times(best / first)} as many {climbed.unit} a second, and {times(limit / best)} to the limit"
    with figure(figsize=(7.2, 0.55 * len(rungs) + 1.9)) as (drawn, axes):
        axes.set(xscale="log", ylim=(-0.6, len(rungs) + 0.5))
        axes.set_xlim(*_ends(rungs, limit))
        _climb(axes, climbed)
        _limit(axes, climbed, limit, best, what)
        names = [f"{rung.name}\n{rung.note}" if rung.note else rung.name for rung in rungs]
        axes.set_yticks(range(len(rungs)), labels=names)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_xlabel(f"{climbed.unit} a second (each line is ten times the one before)")
        axes.set_title(title)
    steps = "; ".join(f"{rung.name} {spoken(rung.rate)}" for rung in rungs)
    return picture(drawn, f"{title}. {steps}; limit {spoken(limit)} ({what}).")


def _ends(rungs: Sequence[Rung], limit: float) -> tuple[float, float]:
    """The lowest and the highest rate to show, guesses included, with room at both ends."""
    shown = [limit, *(rung.rate for rung in rungs)]
    shown += [below.rate * rung.guess for below, rung in zip(rungs, rungs[1:], strict=False) if rung.guess]
    return min(shown) / 2, max(shown) * 2


def _climb(axes, climbed):
    """Draw the rungs from the lowest up, each from where the one below ended."""
    colour = ROLES["cpu"].colour
    for height, (rung, gain) in enumerate(zip(climbed.rungs, climbed.gains, strict=True)):
        below = rung.rate / gain
        down = gain < 0.995
        axes.plot([below, rung.rate], [height] * 2, ":" if down else "-", color=colour, linewidth=6 if not down else 3)
        axes.plot(rung.rate, height, ROLES["cpu"].marker, color=colour, markersize=8)
        if height + 1 < len(climbed.rungs):
            axes.plot([rung.rate] * 2, [height, height + 1], color=colour, linewidth=1)
        reach = [below, rung.rate]
        if rung.guess is not None and height:
            reach.append(below * rung.guess)
            axes.plot(reach[-1], height, "o", markersize=10, markerfacecolor="none", color=ROLES["waiting"].colour)
        _say(axes, _words(climbed, height, rung, gain), height, min(reach), max(reach))


def _words(climbed, height, rung, gain):
    words = spoken(rung.rate) if height else f"{spoken(rung.rate)} {climbed.unit} a second"
    words += f"   {times(gain)}" if height else ""
    return words + (f"   you: {times(rung.guess)}" if rung.guess is not None and height else "")


def _say(axes, words, height, left, right):
    """Write `words` beside a step from `left` to `right`, on the side that has the room."""
    start = axes.transAxes.inverted().transform(axes.transData.transform((left, height)))[0]
    place, ha, offset = (right, "left", (9, 0)) if start < _ROOM else (left, "right", (-9, 0))
    axes.annotate(words, (place, height), offset, textcoords="offset points", ha=ha, va="center")


def _limit(axes, climbed, limit, best, what):
    """Draw the limit as an upright line, what it is beside its head, and the way that is left to it."""
    grey, height = ROLES["bytes"].colour, len(climbed.rungs)
    axes.axvline(limit, color=ROLES["error"].colour, linewidth=2, linestyle="--")
    axes.plot([best, limit], [height - 1] * 2, ":", color=grey, linewidth=2)
    words = f"limit: {spoken(limit)}, {what}"
    axes.annotate(words, (limit, height), (-8, 0), textcoords="offset points", ha="right", va="center")
