"""The pictures drawn in widgets, by their own data: bars as long as their numbers, in the unit of their axis."""

from contextlib import closing
from math import pi
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course.chapter_times import LIMIT, outlook
from course.devices.explore import PROGRAM
from course.traces import MatmulTiming
from course.training import linear_regression, train_in_turns
from course.training.records import RECORD, Event
from course.widgets import (
    CourseMap,
    FailureLab,
    MatmulSlider,
    PiDarts,
    PlacementExplorer,
    RegressionLab,
    RooflineExplorer,
    SliceMean,
    StopwatchComparison,
)
from course.widgets.matmul_slider import Duel
from tests.helpers.drawn import axes_of, bars, figures, flat_bars, levels, lines, near, number, svgs, ticks, uprights


def test_chapters_bars_are_seconds_and_the_line_is_the_limit():
    with closing(CourseMap(cores=1, memory=1, slower=2.0)) as widget:
        axes = axes_of(widget.static)
    wanted = outlook(1, 1, 2.0)
    assert flat_bars(axes) == near([(row, 0, one.seconds) for row, one in enumerate(wanted)])
    assert uprights(axes) == [LIMIT] and axes.get_xlabel() == "seconds to run all cells (estimated)"
    assert axes.get_xlim()[0] == 0 and axes.get_xlim()[1] > max(LIMIT, *(one.seconds for one in wanted))
    assert ticks(axes.yaxis) == {one.chapter.name: row for row, one in enumerate(wanted)}
    assert axes.get_ylim()[0] > len(wanted) - 1 and axes.get_ylim()[1] < 0, "the first on top"
    told = [(text.get_text().strip(" ✕"), text.xy) for text in axes.texts if "limit" not in text.get_text()]
    assert told == near([(f"{one.seconds:.0f} s", (one.seconds, row)) for row, one in enumerate(wanted)])


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
        found = widget.result
        chosen = found.of(widget.watch)
    (readings,), (lanes,) = (figure.axes for figure in seen)
    assert flat_bars(readings) == near([(row, 0, one.seconds * 1e6) for row, one in enumerate(found.readings)])
    assert uprights(readings) == near([found.true * 1e6]) and readings.get_xscale() == "log"
    assert readings.get_xlabel() == "microseconds a product, modelled; dotted: the product itself"
    assert [name.split(" ", 1)[1] for name in ticks(readings.yaxis)] == [one.name for one in found.readings]
    assert readings.get_xlim()[0] <= min(one.seconds for one in found.readings) * 1e6
    first = min(span.start for span in chosen.spans)
    assert lanes.get_xlabel().startswith(f"{unit}, modelled")
    assert [(left, width) for _, left, width in flat_bars(lanes)] == near(
        [((span.start - first) / second, (span.stop - span.start) / second) for span in chosen.spans]
    )
    assert uprights(lanes) == near([(moment - first) / second for moment in chosen.read])


def test_slices_bars_are_the_widgets_values():
    values = [1.0, 2.0, 6.0, 5.0]
    with closing(SliceMean(values=values, cut=1)) as widget:
        axes = axes_of(widget.static)
    assert bars(axes) == near([(0, 0, 1, 1.0), (1, 0, 3, 13 / 3)])
    first, rest, weighted, averaged = lines(axes)
    assert first + rest == near([(at + 0.5, value) for at, value in enumerate(values)])
    assert (weighted[0][1], averaged[0][1]) == near((3.5, 8 / 3))


def test_darts_are_the_widgets_darts():
    with closing(PiDarts(samples=1000, seed=3)) as widget:
        thrown = widget.wait().result
        square, path = axes_of(widget.draw, thrown)
    places = np.concatenate([part.get_offsets() for part in square.collections])
    assert sorted(map(tuple, places.tolist())) == sorted(zip(thrown.x.tolist(), thrown.y.tolist(), strict=True))
    assert all(np.hypot(*place) < 1 for place in square.collections[0].get_offsets())
    assert levels(path) == [pi] and lines(path)[1] == near([(float(e.samples), e.value) for e in thrown.running])
    assert lines(path)[1][-1][0] == 1000 and square.get_xlabel() == "all darts"


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
    shafts = [number(path, "stroke-width") for path in image.iter("path") if path.get("stroke-width")]
    assert shafts == pytest.approx([1.5 + np.log2(1 + move.nbytes) / 4 for move in run.moves], abs=0.06)
    lanes = [number(rect, "y", "height") for rect in image.iter("rect") if number(rect, "x") < 1]
    boxes = [number(rect, "y", "height") for rect in image.iter("rect") if number(rect, "x") > 1]
    devices = [*placement, "/cpu:0"]  # and the reading of the loss
    assert len(boxes) == len(PROGRAM) + 1
    for (y, height), device in zip(boxes, devices, strict=True):
        top, tall = lanes[["/cpu:0", "/gpu:0"].index(device)]
        assert top < y and y + height < top + tall


def test_the_dragged_rooflines_stops_are_the_widgets_track():
    with closing(RooflineExplorer(source="h200", size=512)) as widget:
        look = widget.wait().result
        (image,) = svgs(widget.draw(look))
    stops = [circle for circle in image.iter("circle") if circle.get("class") == "stop"]
    assert [int(stop.get("data-size")) for stop in stops] == [stop.size for stop in look.track.stops]
    across = [number(stop, "cx") for stop in stops]
    told = [np.log10(stop.intensity) for stop in look.track.stops]
    slopes = np.diff(across) / np.diff(told)
    assert slopes == pytest.approx([slopes[0]] * len(slopes), rel=0.05), "a logarithmic axis"
    up = [number(stop, "cy") for stop in stops]
    assert [one < other for one, other in zip(up[1:], up, strict=False)] == [
        one.speed > other.speed for one, other in zip(look.track.stops[1:], look.track.stops, strict=False)
    ]


def test_a_regressions_picture_is_of_its_own_history_and_line():
    problem = linear_regression()
    result = train_in_turns(
        problem, optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.02), workers=2, total_steps=60
    )
    # the widget itself would start a cluster, which its picture doesn't need
    fit, losses, staleness = axes_of(RegressionLab.draw, SimpleNamespace(problem=problem), result)
    dots, best, trained = lines(fit)
    assert [x for x, _ in dots] == near(problem.x.tolist()) and [y for _, y in dots] == near(problem.y.tolist())
    slope, intercept = (result.parameters[name].item() for name in ("slope", "intercept"))
    assert trained == near([(x, slope * x + intercept) for x in (min(problem.x.tolist()), max(problem.x.tolist()))])
    assert best[0][1] == pytest.approx(problem.least_squares().slope * best[0][0] + problem.least_squares().intercept)
    rows = result.history
    for worker, line in enumerate(lines(losses)):
        mine = rows[rows["worker"] == worker]
        assert line == near(list(zip(mine["step"].astype(float).tolist(), mine["loss"].tolist(), strict=True)))
    shares = [100 * float((result.staleness == value).mean()) for value in range(int(result.staleness.max()) + 1)]
    assert [height for *_, height in bars(staleness)] == near(shares)


def test_a_failures_picture_has_its_events_at_their_seconds():
    history = np.array([(n + 1, n % 3, n, 5.0, 0.1 * n, 0.1 * n) for n in range(50)], dtype=RECORD)
    events = [Event(1.0, "killed", "/job:worker/task:1", 10), Event(1.5, "worker lost", "/job:worker/task:1", 15)]
    record = SimpleNamespace(history=history, events=events, rows=history, ended="")
    processes, *lanes = axes_of(FailureLab.draw, None, record, until=8.0)
    assert ticks(processes.yaxis) == {"◆ ps 0": 0, "● worker 0": 1, "● worker 1": 2, "● worker 2": 3}
    # worker 1 was hit, and its next gradient came at 1.6 s; the last ones of all come before 4.9 s
    assert flat_bars(processes) == near([(0, 0, 8), (1, 0, 4.8), (2, 0, 1), (2, 1.6, 3.3), (3, 0, 4.7)])
    assert all(uprights(lane) == [1.0, 1.5] for lane in (processes, *lanes))
    assert lanes[-1].get_xlim() == near((0, 8.08)) and lanes[-1].get_xlabel() == "seconds"
    assert lines(lanes[1])[0] == near([(0.1 * n, n + 1) for n in range(50)])
