"""The stopwatch comparison: five stopwatches on one product of a simulated GPU, and what each of them counts."""

from html import escape
from typing import Any

import traitlets

from course import draw
from course.devices.simulated import model_for
from course.draw.colours import bar_style
from course.draw.picture import Picture
from course.units import in_words
from course.widgets.exhibits.exhibit import Exhibit, headline
from simgpu.clock.five_stopwatches import NAMES, Stopwatches, stopwatches

SIZES = [16, 64, 256, 512, 1024, 1500, 2048, 3000, 4096, 8192]
MODELS = ["H200", "T4"]


class StopwatchComparison(Exhibit):
    """Choose a size and a stopwatch; see what it reads, beside the others, and what host and GPU did meanwhile.

    `size` is one of `SIZES`, `model` the simulated GPU's, `watch` the stopwatch whose lanes are shown. Every second is
    a modelled one. `result` is a `Stopwatches`.
    """

    module = "stopwatch_comparison.js"
    styles = ("stopwatch_comparison.css",)
    shared = ("axes.js", "controls.js", "scrubber.js")
    size = traitlets.Enum(SIZES, 1500).tag(state=True)
    model = traitlets.Enum(MODELS, "H200").tag(state=True)
    watch = traitlets.Enum(NAMES, NAMES[0]).tag(state=True)

    def engine(self, size: int, model: str, watch: str) -> Stopwatches:
        """Return the `Stopwatches` of a size; they are the same for each `watch`."""
        return stopwatches(size, model_for(model))

    def grid(self) -> list[dict[str, Any]]:
        """Return every size on every model."""
        return [{"size": size, "model": model} for model in MODELS for size in SIZES]

    def data(self) -> dict[str, Any]:
        """Return what the controls offer; `watch` changes only what is shown."""
        return {"sizes": SIZES, "models": MODELS, "watches": NAMES, "views": ["watch"]}

    def answer(self, result: Stopwatches) -> dict[str, Any]:
        """Return what each stopwatch read, with its words, and its spans in microseconds."""
        readings = [_plain(reading, result) for reading in result.readings]
        return {"true": _micro(result.true), "readings": readings, "label": result.label}

    def draw(self, result: Stopwatches) -> Picture:
        """Return the chosen reading in large, all readings as bars, and the chosen one's lanes."""
        chosen = result.of(self.watch)
        plain = _plain(chosen, result)
        bars = _bars(result, chosen)
        lanes = draw.lanes(chosen.spans, chosen.read, plain["title"], result.label.replace("; ", "\n"))
        body = (
            f"{headline(plain['words'], f'modelled, {chosen.name}')}"
            f'<p class="{"ok" if chosen.right else "wrong"}">{escape(plain["sentence"])}</p>'
            f"{bars.html}{lanes.html}"
        )
        readings = ", ".join(f"{reading.name} {in_words(reading.seconds)}" for reading in result.readings)
        verdict = f"n = {result.size}, {chosen.name}: {plain['words']} modelled. {plain['sentence']}"
        return draw.html(body, f"{verdict} {readings}. {result.label}.")


def _plain(reading, result):
    """Return a reading as the page takes it: [lane, what, start, stop] a span."""
    compared = _compared(reading, result.true)
    spans = [[span.lane, span.what, _micro(span.start), _micro(span.stop)] for span in reading.spans]
    return {
        "seconds": _micro(reading.seconds),
        "words": in_words(reading.seconds),
        "right": reading.right,
        "compared": compared,
        "title": _title(reading),
        "sentence": f"{compared.capitalize()}. It counts {reading.counts}. {_truth(result)}",
        "read": [_micro(moment) for moment in reading.read],
        "spans": spans,
    }


def _micro(seconds):
    return round(1e6 * seconds, 5)


def _truth(result):
    if result.launch > result.work:
        return (
            f"The GPU works for {in_words(result.work)} only: among many such products each takes the "
            f"{in_words(result.launch)} of a launch."
        )
    return f"The product itself keeps the GPU busy for {in_words(result.work)}."


def _compared(reading, true):
    """Return in words how a reading compares with the product's seconds among many."""
    ratio = reading.seconds / true
    if 0.9 < ratio < 1.1:
        return "the product, within a tenth" + ("" if reading.right else ", by accident")
    if ratio > 1:
        return f"{_times(ratio)} times the product"
    return f"{_times(1 / ratio)} times too short"


def _times(ratio):
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _title(reading):
    """Return the title of the lanes: what lies between the two readings."""
    if not any(span.what == "work" and span.stop <= reading.read[1] for span in reading.spans):
        return "Read before the GPU has finished"
    return f"Read: {reading.counts.partition('; ')[0].partition(' besides')[0]}"


def _bars(result, chosen):
    """Return a bar a stopwatch, in powers of ten; the dotted line is the product itself."""
    seconds = [reading.seconds for reading in result.readings]
    title = f"One product, {len(seconds)} stopwatches: they differ {_times(max(seconds) / min(seconds))} times"
    with draw.figure(figsize=(7.2, 2.9)) as (drawn, axes):
        for row, reading in enumerate(result.readings):
            bold = "bold" if reading is chosen else "normal"
            width = reading.seconds * 1e6
            axes.barh(row, width, height=0.6, **bar_style("gpu"))
            text = f"{in_words(reading.seconds)}, {_compared(reading, result.true)}"
            axes.annotate(text, (width, row), (5, 0), textcoords="offset points", va="center", weight=bold, fontsize=9)
        axes.axvline(result.true * 1e6, color=draw.ROLES["bytes"].colour, linestyle=":", linewidth=1.5)
        axes.set(xscale="log", xlim=(1.0, max(seconds) * 3e9))  # room for the words
        labels = [f"{'✓' if reading.right else '✕'} {reading.name}" for reading in result.readings]
        axes.set_yticks(range(len(labels)), labels=labels)
        axes.set_ylim(len(result.readings) - 0.4, -0.6)
        axes.set_xlabel("microseconds a product, modelled; dotted: the product itself")
        axes.set_title(title)
    return draw.picture(drawn, title)
