"""The roofline explorer: drag an op along its sizes and read what holds it back, memory, arithmetic or its launch."""

from dataclasses import dataclass
from html import escape
from typing import Any

import traitlets

from course import draw
from course.draw.picture import Picture
from course.timing import track as tracks
from course.timing.roofline import Point, Roofline, roofline
from course.timing.track import OPS, SIZES, Track
from course.units import short
from course.widgets.exhibits.exhibit import Exhibit, headline

RECORDED = "epyc-2-cores"
#: state -> what the reader chooses
SOURCES = {
    "h200": "NVIDIA H200, modelled",
    "t4": "NVIDIA T4, modelled",
    "recorded": "a CPU, recorded",
    "measured": "this CPU, measured",
}
#: state -> the dtypes that have a roof there
DTYPES = {"h200": ["float64", "float32", "float16"], "t4": ["float32", "float16"]}


@dataclass(frozen=True)
class Look:
    """A `track` and the `size` at which it is looked at."""

    track: Track
    size: int


class RooflineExplorer(Exhibit):
    """Drag the mark, move the slider or press an arrow key: an op's size changes, and with it what holds it back.

    `op` is one of `course.timing.track.OPS`, `size` one of its `SIZES`, `source` whose roof it is: `h200` and `t4` are
    modelled after data sheets, `recorded` is a CPU on the day it names, `measured` this CPU, now, in the background.
    `dtype` is of the matrices: float32 everywhere, float16 on both GPUs, float64 on the H200. A source that lacks it
    sets it to float32; a dtype that the source lacks sets that to `h200`.
    `measure()` measures anew. `result` is a `Look`.
    """

    module = "roofline_explorer.js"
    styles = ("roofline_explorer.css",)
    actions = ("measure",)
    background = True
    op = traitlets.Enum(list(OPS), "matrix @ matrix").tag(state=True)
    size = traitlets.Enum(SIZES, 256).tag(state=True)
    source = traitlets.Enum(list(SOURCES), "h200").tag(state=True)
    dtype = traitlets.Enum(DTYPES["h200"], "float32").tag(state=True)

    def __init__(self, **state: object) -> None:
        self._roof: Roofline | None = None  # measured
        self._speeds: dict[tuple[str, int], float | None] = {}  # (op, size) -> operations a second, measured
        super().__init__(**state)

    @traitlets.observe("dtype")
    def _has(self, change):
        if self.dtype not in _dtypes(self.source):
            self.source = "h200"

    @traitlets.observe("source")
    def _fit(self, change):
        if self.dtype not in _dtypes(self.source):
            self.dtype = "float32"

    def measure(self) -> "RooflineExplorer":
        """Measure this CPU's roof and the present op on it, forgetting what was measured before; returns the widget."""
        self._roof, self._speeds = None, {}
        if self.source == "measured":
            self.refresh()
        self.source = "measured"
        return self

    def engine(self, op: str, size: int, source: str, dtype: str) -> Look | None:
        """Return the `Look` of a state; measures what is not measured yet; None when stopped."""
        if source != "measured":
            return Look(_stored_track(op, source, dtype), size)
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

    def grid(self) -> list[dict[str, Any]]:
        """Return every op on every roof that needs no measuring; the page finds the sizes in their tracks."""
        sources = [source for source in SOURCES if source != "measured"]
        return [
            {"op": op, "source": source, "dtype": dtype}
            for source in sources
            for dtype in _dtypes(source)
            for op in OPS
        ]

    def data(self) -> dict[str, Any]:
        """Return what the controls offer."""
        dtypes = {source: _dtypes(source) for source in SOURCES}
        return {"ops": list(OPS), "sizes": list(SIZES), "sources": list(SOURCES.items()), "dtypes": dtypes}

    def answer(self, result: Look) -> dict[str, Any]:
        """Return the roof, and for each size its place and its words."""
        roof = result.track.roof
        stops = [_plain(roof, stop) for stop in result.track.stops]
        limits = {"peak": roof.peak, "bandwidth": roof.bandwidth, "ridge": roof.ridge, "kind": roof.kind}
        return {**limits, "device": roof.device, "label": f"{roof.device} {roof.dtype}, {roof.label}", "stops": stops}

    def draw(self, result: Look) -> Picture:
        """Return what is reached in large, what holds it back in a sentence, and the picture."""
        roof, stop = result.track.roof, result.track.at(result.size)
        name, sentence = _held(roof, stop)
        reached = _reached(roof, stop)
        verdict = f"{result.track.op} at n = {stop.size}: {name}, {reached.removeprefix('at ')} ({roof.kind})"
        here = Point(f"n = {stop.size}", stop.intensity, stop.speed or roof.bound(stop.intensity), roof.kind)
        sizes = [(other.intensity, other.speed) for other in result.track.stops if other.speed]
        shown = draw.roofline(roof, [here], verdict, sizes)
        body = f"{headline(name, f'{reached}, {roof.kind}')}<p>{escape(sentence)}</p>{shown.html}"
        return draw.html(body, f"{verdict}. {sentence} {roof.label}.")


def _dtypes(source):
    return DTYPES.get(source, ["float32"])


def _stored_track(op, source, dtype):
    if source == "recorded":
        return tracks.recorded_track(op, RECORDED)
    return tracks.modelled_track(op, source.upper(), dtype)


def _plain(roof, stop):
    """Return a stop as the page takes it."""
    name, sentence = _held(roof, stop)
    reached = f"{_reached(roof, stop)}, {roof.kind}"
    place = {"size": stop.size, "intensity": float(f"{stop.intensity:.5g}"), "bound": roof.bound(stop.intensity)}
    return {**place, "speed": stop.speed, "name": name, "reached": reached, "sentence": sentence}


def _reached(roof, stop):
    return f"at {short(stop.speed)}FLOP/s" if stop.speed else f"at most {_most(roof, stop)}"


def _held(roof, stop):
    """Return what holds the op back, as a name and as a sentence."""
    most, per_byte = _most(roof, stop), f"{float(f'{stop.intensity:.3g}'):,g} operations a byte"
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
