"""The pictures drawn in widgets, by their own data: bars as long as their numbers, in the unit of their axis."""

from contextlib import closing

import numpy as np
import pytest

from course.chapter_times import LIMIT, outlook
from course.devices.explore import PROGRAM
from course.traces import MatmulTiming
from course.widgets import CourseMap, MatmulSlider, PlacementExplorer, StopwatchComparison
from course.widgets.matmul_slider import Duel
from tests.helpers.drawn import axes_of, figures, flat_bars, near, number, svgs, texts, ticks, uprights


def test_chapters_bars_are_seconds_and_the_line_is_the_limit():
    with closing(CourseMap(cores=1, memory=1, slower=2.0)) as widget:
        axes = axes_of(widget.static)
    wanted = outlook(1, 1, 2.0)
    assert flat_bars(axes) == near([(row, 0, one.seconds) for row, one in enumerate(wanted)])
    assert uprights(axes) == [LIMIT] and axes.get_xlabel() == "seconds to run all cells (estimated)"
    assert axes.get_xlim()[0] == 0 and axes.get_xlim()[1] > max(LIMIT, *(one.seconds for one in wanted))
    assert ticks(axes.yaxis) == {one.chapter.name: row for row, one in enumerate(wanted)}
    assert axes.get_ylim()[0] > len(wanted) - 1 and axes.get_ylim()[1] < 0, "the first on top"
    labels = [(text.get_text().strip(" ✕"), text.xy) for text in axes.texts if "limit" not in text.get_text()]
    assert labels == near([(f"{one.seconds:.0f} s", (one.seconds, row)) for row, one in enumerate(wanted)])


def test_the_products_bars_are_milliseconds():
    cpu = MatmulTiming(512, "/cpu:0", compute=0.02)
    gpu = MatmulTiming(512, "/gpu:0", 0.001, to_device=0.004, from_device=0.002, kind="modelled", origin="a sheet")
    with closing(MatmulSlider()) as widget:
        axes = axes_of(widget.draw, Duel(cpu, gpu))
    assert flat_bars(axes) == near([(0, 0.0, 20.0), (1, 0.0, 1.0), (1, 1.0, 6.0)])
    assert axes.get_xlabel() == "milliseconds a product (grey: copies)"
    assert ticks(axes.yaxis) == {"CPU, measured": 0, "GPU, modelled": 1}
    assert axes.get_xlim()[0] == 0 and axes.get_xlim()[1] >= 20 and axes.yaxis_inverted()


@pytest.mark.parametrize(("size", "unit", "second"), [(16, "µs", 1e-6), (4096, "ms", 1e-3)])
def test_stopwatches_bars_are_microseconds_and_the_lanes_are_in_the_unit_that_they_name(size, unit, second):
    with closing(StopwatchComparison(size=size)) as widget, figures() as seen:
        widget.static()
        result = widget.result
        chosen = result.of(widget.watch)
    (readings,), (lanes,) = (figure.axes for figure in seen)
    assert flat_bars(readings) == near([(row, 0, one.seconds * 1e6) for row, one in enumerate(result.readings)])
    assert uprights(readings) == near([result.true * 1e6]) and readings.get_xscale() == "log"
    assert readings.get_xlabel() == "microseconds a product, modelled; dotted: the product itself"
    assert [name.split(" ", 1)[1] for name in ticks(readings.yaxis)] == [one.name for one in result.readings]
    assert readings.get_xlim()[0] <= min(one.seconds for one in result.readings) * 1e6
    first = min(span.start for span in chosen.spans)
    assert lanes.get_xlabel().startswith(f"{unit}, modelled")
    assert [(left, width) for _, left, width in flat_bars(lanes)] == near(
        [((span.start - first) / second, (span.stop - span.start) / second) for span in chosen.spans]
    )
    assert uprights(lanes) == near([(moment - first) / second for moment in chosen.read])


def test_a_placements_lanes_are_its_modelled_seconds_and_its_arrows_its_bytes():
    placement = ["/gpu:0", "/gpu:0", "/gpu:0", "/gpu:0", "/cpu:0", "/cpu:0"]
    with closing(PlacementExplorer(placement, width=256)) as widget, figures() as seen:
        shown = widget.static()
        result = widget.result
    (axes,) = seen[-1].axes
    run = result.run
    unit, second = next((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if run.seconds >= s)
    assert axes.get_xlabel().startswith(f"{unit}, modelled")
    first = min(span.start for span in run.spans)
    assert [(left, width) for _, left, width in flat_bars(axes)] == near(
        [((span.start - first) / second, (span.stop - span.start) / second) for span in run.spans]
    )
    image = next(svgs(shown))
    shafts = [number(line, "stroke-width") for line in image.iter("line")]
    assert shafts == pytest.approx([1.5 + np.log2(1 + move.nbytes) / 4 for move in run.moves], abs=0.06)
    heads = {text.split()[1]: x for text, x, y in texts(image) if "/cpu" in text or "/gpu" in text}
    boxes = [number(box, "x", "width") for box in image.iter("rect")]
    ops = ("item()", *(step.code for step in PROGRAM), *(f"copy {move.value}" for move in run.moves))
    names = [text for text, *_ in texts(image) if text in ops]
    by_name = dict(zip(names, (x + width / 2 for x, width in boxes), strict=True))
    for step, device in zip(PROGRAM, placement, strict=True):
        assert by_name[step.code] == heads[device]
    assert by_name["item()"] == heads["/cpu:0"] and len(boxes) == len(PROGRAM) + 1 + len(run.moves)
