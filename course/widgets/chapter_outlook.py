"""`ChapterOutlook`: the machine you have, or wish you had, and how long each chapter would take on it."""

import ipywidgets
import traitlets

from course.chapter_times import LIMIT, Outlook, outlook
from course.draw import ROLES, figure, html, picture
from course.draw.colours import bar_style
from course.draw.picture import Picture
from course.widgets.explorer import Explorer


class ChapterOutlook(Explorer):
    """Move `cores`, `memory` (GiB), `slower` and `starts` and see which chapters pass their 30 seconds.

    `slower` is how many times as long a matrix product takes, `starts` how many times as long a process takes to start.
    """

    cores = traitlets.Int(2).tag(state=True)
    memory = traitlets.Int(8).tag(state=True)
    slower = traitlets.Float(1.0).tag(state=True)
    starts = traitlets.Float(1.0).tag(state=True)

    def controls(self) -> list[ipywidgets.Widget]:
        """Return four sliders."""
        return [
            self.slider("cores", 1, 64, "cores"),
            self.slider("memory", 1, 64, "memory, GiB"),
            self.slider("slower", 0.25, 8.0, "a product takes (times)", step=0.25, kind=ipywidgets.FloatSlider),
            self.slider("starts", 0.25, 8.0, "a start takes (times)", step=0.25, kind=ipywidgets.FloatSlider),
        ]

    def compute(self) -> list[Outlook]:
        """Ask for the outlook: a formula, at once."""
        return outlook(self.cores, self.memory, self.slower, self.starts)

    def draw(self, result: list[Outlook]) -> Picture:
        """Return bars of seconds, one a chapter, beside the limit each chapter promises."""
        slow = [o for o in result if o.why]
        words = "; ".join(f"{o.chapter.name}: {o.why}" for o in slow) or "No chapter should pass its 30 seconds."
        number = f"{len(slow)} of {len(result)} slow here"
        body = f'<div class="figure">{number}</div><p class="note">{words}</p>{_bars(result).html}'
        return html(body, f"{number}. {words}")


def _bars(result):
    with figure(figsize=(7.2, 3.0)) as (drawn, axes):
        for row, item in enumerate(result):
            axes.barh(row, item.seconds, **bar_style("error" if item.why else "cpu"))  # an estimate, not measured
            sign = f" {ROLES['error'].sign}" if item.why else ""
            axes.annotate(f" {item.seconds:.0f} s{sign}", (item.seconds, row), va="center", fontsize=9)
        axes.axvline(LIMIT, color=ROLES["waiting"].colour, linewidth=1.5, linestyle=":")
        axes.annotate(f" limit {LIMIT} s", (LIMIT, -0.75), color=ROLES["waiting"].colour, fontsize=9, va="center")
        axes.set_yticks(range(len(result)), labels=[item.chapter.name for item in result])
        axes.set_ylim(len(result) - 0.5, -1.2)
        axes.set_xlim(0, max(LIMIT * 1.25, max(item.seconds for item in result) * 1.12))
        axes.set_xlabel("seconds to run all cells (estimated)")
    return picture(drawn, "bars of estimated seconds, one a chapter")
