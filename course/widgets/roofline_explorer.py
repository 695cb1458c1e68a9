"""The roofline explorer: drag an op along its sizes and read what holds it back, memory, arithmetic or its launch."""

from dataclasses import dataclass
from html import escape

import anywidget
import ipywidgets
import traitlets

from course.draw import html
from course.draw.picture import Picture, text_of
from course.draw.track import track
from course.timing import track as tracks
from course.timing.roofline import Roofline, roofline
from course.timing.track import OPS, SIZES, Track
from course.units import short
from course.widgets.explorer import WIDE, Explorer, headline

RECORDED = "epyc-2-cores"
#: state -> what the reader chooses
SOURCES = {
    "h200": "NVIDIA H200, modelled",
    "t4": "NVIDIA T4, modelled",
    "recorded": "a CPU, recorded",
    "measured": "this CPU, measured",
}


class _Draggable(anywidget.AnyWidget):
    """Shows `value` (HTML); a mark dragged in it, or an arrow key, changes `size`."""

    _esm = text_of("course.widgets", "roofline_explorer.js")
    value = traitlets.Unicode("").tag(sync=True)
    size = traitlets.Int(SIZES[0]).tag(sync=True)


@dataclass(frozen=True)
class Look:
    """A `track` and the `size` at which it is looked at."""

    track: Track
    size: int


class RooflineExplorer(Explorer):
    """Drag the mark, move the slider or press an arrow key: an op's size changes, and with it what holds it back.

    `op` is one of `course.timing.track.OPS`, `size` one of its `SIZES`, `source` whose roof it is: `h200` and `t4` are
    modelled after data sheets, `recorded` is a CPU on the day it names, `measured` this CPU, now, in the background.
    `measure()` measures anew. `result` is a `Look`.
    """

    background = True
    op = traitlets.Enum(list(OPS), "matrix @ matrix").tag(state=True)
    size = traitlets.Enum(SIZES, 256).tag(state=True)
    source = traitlets.Enum(list(SOURCES), "h200").tag(state=True)

    def __init__(self, **state: object) -> None:
        self._roof: Roofline | None = None  # measured
        self._speeds: dict[tuple[str, int], float | None] = {}  # (op, size) -> operations a second, measured
        super().__init__(**state)

    def measure(self) -> "RooflineExplorer":
        """Measure this CPU's roof and the present op on it, forgetting what was measured before; returns the widget."""
        self._roof, self._speeds = None, {}
        if self.source == "measured":
            self.refresh()
        self.source = "measured"
        return self

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the op, whose roof, the measure button and the size slider."""
        slider = self.choice("size", SIZES, "matrix size n", ipywidgets.SelectionSlider, layout=WIDE)
        roofs = [(words, source) for source, words in SOURCES.items()]
        row = [
            self.choice("op", list(OPS), "Op", layout={"width": "190px"}),
            self.choice("source", roofs, "Roof of", layout={"width": "270px"}),
            self.button("Measure here", self.measure, icon="refresh"),
        ]
        return [ipywidgets.Box(row, layout={"flex_flow": "row wrap", "grid_gap": "0 12px"}), slider]

    def canvas(self) -> ipywidgets.Widget:
        """Return the picture that can be dragged."""
        canvas = _Draggable(size=self.size)
        traitlets.link((self, "size"), (canvas, "size"))
        return canvas

    def compute(self) -> Look | None:
        """Return the `Look` of the present state; measures what is not measured yet; None when stopped."""
        op, size, source = self.op, self.size, self.source
        if source == "recorded":
            return Look(tracks.recorded_track(op, RECORDED), size)
        if source != "measured":
            return Look(tracks.modelled_track(op, source.upper()), size)
        if self._roof is None:
            self.progress(0.1)
            self._roof = roofline("/cpu:0")
        self.progress(0.7)
        if self.stopped.is_set():
            return None
        if (op, size) not in self._speeds:
            self._speeds[op, size] = tracks.measured_speed(op, size)
        speeds = {n: speed for (name, n), speed in self._speeds.items() if name == op}
        return Look(tracks.track_of(op, self._roof, speeds), size)

    def draw(self, result: Look) -> Picture:
        """Return what is reached in large, what holds it back in a sentence, and the picture."""
        found, stop = result.track, result.track.at(result.size)
        kind = found.roof.kind
        reached = f"{short(stop.speed)}FLOP/s" if stop.speed else f"at most {_most(found.roof, stop)}"
        name, sentence = _held(found.roof, stop)
        verdict = f"{found.op} at n = {stop.size}: {name}, {reached} ({kind})"
        shown = track(found, stop.size, verdict).html
        body = f"{headline(name, f'at {reached}, {kind}')}<p>{escape(sentence)}</p>{shown}"
        return html(body, f"{verdict}. {sentence} {found.roof.label}.")

    def _show_busy(self, busy):
        super()._show_busy(busy and self.source == "measured")  # the rest takes milliseconds


def _held(roof, stop):
    """Return what holds the op back, as a name and as a sentence."""
    most, per_byte = _most(roof, stop), f"{stop.intensity:.3g} operations a byte"
    if stop.speed:
        part = stop.speed / roof.bound(stop.intensity)
        share = f" It reaches {f'{part:.0%}' if part >= 0.01 else 'less than 1%'} of that."
    else:
        unknown = "recorded" if roof.kind == "recorded" else "measured: it takes long here"
        share = f" Its own speed was not {unknown}."
    if stop.limit == "launch":
        longer = "Starting the op takes longer than doing it"
        return "launch-bound", f"{longer}. With {per_byte} the roof would allow {most}.{share}"
    if stop.limit == "memory":
        feed = f"memory's {short(roof.bandwidth)}B/s allow at most {most}"
        return "memory-bound", f"{per_byte} is below the ridge of {roof.ridge:.3g}: {feed}.{share}"
    return "compute-bound", (
        f"{per_byte} is above the ridge of {roof.ridge:.3g}: the peak of {most} is the limit, not memory.{share}"
    )


def _most(roof, stop):
    return f"{short(roof.bound(stop.intensity))}FLOP/s"
