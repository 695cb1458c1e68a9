"""`CourseMap`: the ten chapters, which of your guesses and exercises are done, and how long each takes on a machine."""

from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from typing import Any

import traitlets

from course.chapter_times import CHAPTERS, LIMIT, REFERENCE_CORES, Outlook, outlook
from course.devices import Device
from course.draw import ROLES, Picture, figure, html, picture
from course.draw.colours import bar_style
from course.widgets.exhibits.exhibit import Exhibit
from course.widgets.stations import STATIONS

_STOPS = {
    "cores": [1, 2, 3, 4, 6, 8, 16, 32, 64],
    "memory": [0.5, 1, 2, 4, 8, 16, 32, 64],
    "slower": [0.25, 0.5, 1, 2, 4, 8, 16],
    "starts": [0.25, 0.5, 1, 2, 4, 8, 16],
}


class CourseMap(Exhibit):
    """The chapters in their order, each with its link, its minutes, and how long *Run All* takes on a machine.

    - `cores`, `memory` (GiB): of the machine. `slower`: how many times as long a matrix product takes on a core of it
      as where the chapters' seconds were seen, `starts`: how many times as long a process's start. All above 0.
    - `devices`: those of the reader's machine, as `list_devices()` gives them; the map names them.

    The browser knows which guesses were made and which exercises passed, and the page fills them in. `result` is a list
    with an `Outlook` for each chapter: an estimate.
    """

    module = "course_map.js"
    styles = ("course_map.css",)
    shared = ("controls.js", "bets/kept.js")
    cores = traitlets.Int(REFERENCE_CORES).tag(state=True)
    memory = traitlets.Float(8.0).tag(state=True)
    slower = traitlets.Float(1.0).tag(state=True)
    starts = traitlets.Float(1.0).tag(state=True)

    def __init__(self, *, devices: Iterable[Device] = (), **state: object) -> None:
        self.devices = list(devices)
        super().__init__(**state)

    def engine(self, cores: int, memory: float, slower: float, starts: float) -> list[Outlook]:
        """Return the outlook: a formula, at once."""
        return outlook(cores, memory, slower, starts)

    def data(self) -> dict[str, Any]:
        """Return the stations, what the formula needs, and the sliders' stops."""
        stations = [
            asdict(station) | {"chapter": asdict(chapter)} for station, chapter in zip(STATIONS, CHAPTERS, strict=True)
        ]
        devices = [[d.name, d.description, round(d.memory / 2**30, 1), d.simulated] for d in self.devices]
        return {"stations": stations, "limit": LIMIT, "seen": REFERENCE_CORES, "devices": devices, "stops": _STOPS}

    def draw(self, result: list[Outlook]) -> Picture:
        """Return the chapters as a list of links, and bars of seconds beside the limit that each chapter promises."""
        slow = [o for o in result if o.why]
        words = "; ".join(f"{o.chapter.name}: {o.why}" for o in slow) or "No chapter should pass its 30 seconds."
        number = f"{len(slow)} of {len(result)} slow here"
        rows = "".join(
            f'<li value="{int(station.name[:2])}"><a href="{station.name}.ipynb" data-chapter="{station.name}">'
            f"{escape(station.title)}</a>, {o.chapter.minutes} minutes. {escape(station.question)}</li>"
            for station, o in zip(STATIONS, result, strict=True)
        )
        links = f'<div class="figure">{len(STATIONS)} chapters</div><ol start="0">{rows}</ol>'
        body = f'{links}<p class="note">{number}, estimated. {escape(words)}</p>{_bars(result).html}'
        return html(body, f"{number}. {words}")


def _bars(result):
    with figure(figsize=(7.2, 3.0)) as (drawn, axes):
        for row, item in enumerate(result):
            axes.barh(row, item.seconds, **bar_style("error" if item.why else "cpu"))  # an estimate, not measured
            sign = f" {ROLES['error'].sign}" if item.why else ""
            axes.annotate(f" {item.seconds:.0f} s{sign}", (item.seconds, row), va="center", fontsize=9)
        axes.axvline(LIMIT, color=axes.xaxis.label.get_color(), linewidth=1.5, linestyle=":")
        axes.annotate(f" limit {LIMIT} s", (LIMIT, -0.75), fontsize=9, va="center")
        axes.set_yticks(range(len(result)), labels=[item.chapter.name for item in result])
        axes.set_ylim(len(result) - 0.5, -1.2)
        axes.set_xlim(0, max(LIMIT * 1.25, max(item.seconds for item in result) * 1.12))
        axes.set_xlabel("seconds to run all cells (estimated)")
    longest = max(result, key=lambda item: item.seconds)
    alt = f"Longest, estimated: {longest.chapter.name}, {longest.seconds:.0f} s; the limit is {LIMIT} s."
    return picture(drawn, alt)
