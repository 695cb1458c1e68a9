"""Plots, by their figures' own data: each bar, line and mark stands where its numbers say, in the unit of its label."""

import re
from math import pi
from types import SimpleNamespace

import numpy as np
import pytest

from course import draw
from course.draw.slices import SliceMeans
from course.draw.training import Seen
from course.timing.crossover import crossover
from course.timing.roofline import Point, Roofline
from course.traces import MatmulTiming
from course.training.records import RECORD, Event
from tests.helpers.drawn import axes_of, bars, flat_bars, levels, lines, near, ticks, uprights, words

# --- the way from a figure to the page -------------------------------------------------------------------------------


def test_what_a_figure_holds_is_what_the_page_shows():
    """The other tests look at the figure; here a bar twice as high is so in the SVG too."""
    with draw.figure() as (figure, axes):
        axes.bar(["a", "b"], [1, 2], color="#123456")
    html = draw.picture(figure, "Two bars").html
    assert re.search(r'width="518.4pt" height="259.2pt" viewBox="0 0 518.4 259.2"', html), "7.2 by 3.6 inches"
    found = re.findall(r'<path d="M ([\d.]+) ([\d.]+) \nL ([\d.]+) [\d.]+ \nL [\d.]+ ([\d.]+) [^"]*"[^>]*#123456', html)
    (left1, foot1, right1, top1), (left2, foot2, right2, top2) = [tuple(map(float, bar)) for bar in found]
    hundredths = 0.021  # of a point: places have two digits
    assert foot1 == foot2 and foot2 - top2 == pytest.approx(2 * (foot1 - top1), abs=2 * hundredths)
    assert right1 - left1 == pytest.approx(right2 - left2, abs=hundredths) and left2 > right1


def test_marks_in_a_row_say_their_look_once_and_words_keep_their_digits():
    with draw.figure() as (figure, axes):
        axes.plot(range(50), "o", color="#123456", alpha=0.5)
        axes.plot(range(50), "s", color="#654321")
        axes.set_title("pi is 3.14159")
    html = draw.picture(figure, "Marks").html
    assert "pi is 3.14159" in html
    assert len(re.findall(r"<use ", html)) >= 100 and html.count("fill: #123456") == html.count("fill: #654321") == 1
    looks = re.findall(r'<g style="([^"]*)"><use', html)
    assert [("#123456" in look, "fill-opacity: 0.5" in look) for look in looks][-2:] == [(True, True), (False, False)]


# --- seconds of products ---------------------------------------------------------------------------------------------

SIZES = (16, 64, 512)
CPU = [MatmulTiming(n, "/cpu:0", compute=s) for n, s in zip(SIZES, (1e-4, 2e-3, 0.5), strict=True)]
GPU = [
    MatmulTiming(n, "/gpu:0", compute=c, to_device=i, from_device=o, kind="modelled", origin="a sheet")
    for n, c, i, o in zip(SIZES, (1e-5, 1e-4, 0.02), (2e-4, 3e-4, 0.05), (1e-4, 1e-4, 0.03), strict=True)
]


def test_the_crossover_has_seconds_over_sizes_on_logarithmic_axes():
    axes = axes_of(draw.crossover, [*reversed(CPU), *GPU], crossover(CPU + GPU))
    (cpu, total, alone, _) = lines(axes)
    assert cpu == near([(16.0, 1e-4), (64.0, 2e-3), (512.0, 0.5)])
    assert total == near([(16.0, 3.1e-4), (64.0, 5e-4), (512.0, 0.1)])
    assert alone == near([(16.0, 1e-5), (64.0, 1e-4), (512.0, 0.02)])
    assert uprights(axes) == [64] and "from n = 64" in axes.get_title(loc="left")
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("matrix size n (n × n)", "seconds a product")
    assert all(place == float(label) for label, place in ticks(axes.xaxis).items())
    assert axes.get_xlim()[0] < 16 and axes.get_xlim()[1] > 512
    assert axes.get_ylim()[0] < 1e-5 and axes.get_ylim()[1] > 0.5
    (between,) = axes.collections
    corners = between.get_paths()[0].vertices
    assert {tuple(corner) for corner in np.round(corners, 9).tolist()} == {
        *((float(t.size), round(t.compute, 9)) for t in GPU),
        *((float(t.size), round(t.total, 9)) for t in GPU),
    }
    ends = words(axes)
    assert ends["GPU with copies (modelled)"] == near((512, 0.1))
    assert ends["GPU, product alone (modelled)"] == near((512, 0.02)) and ends["CPU (measured)"] == near((512, 0.5))


def test_the_share_of_copies_is_parts_of_one():
    axes = axes_of(draw.copy_share, GPU)
    shares = [(t.to_device / t.total, t.compute / t.total, t.from_device / t.total) for t in GPU]
    wanted = []
    for row, (there, product, back) in enumerate(shares):
        wanted += [(row, 0.0, there), (row, there, product), (row, there + product, back)]
    assert flat_bars(axes) == near(wanted)
    assert ticks(axes.yaxis) == {"n = 16": 0, "n = 64": 1, "n = 512": 2}
    assert axes.get_ylim()[0] > 2.4 and axes.get_ylim()[1] < -0.4, "the first is on top, and all are within"
    first = shares[0]
    assert [words(axes)[word][0] for word in ("to the GPU", "product", "back")] == near(
        [first[0] / 2, first[0] + first[1] / 2, 1 - first[2] / 2]
    )
    assert axes.get_xlabel() == "part of the seconds (modelled: a sheet)"
    assert f"{1 - GPU[0].compute / GPU[0].total:.0%}" in axes.get_title(loc="left")


ROOF = Roofline("/cpu:0", "float32", peak=200e9, bandwidth=20e9)
POINTS = [Point("add", 0.125, 2e9), Point("mm", 40.0, 150e9), Point("mv", 0.5, 9e9, "recorded", "then")]


def test_the_roof_is_in_billions_of_operations_a_second_over_operations_a_byte():
    axes = axes_of(draw.roofline, ROOF, POINTS)
    roof, ridge, *marks = lines(axes)
    low, high = axes.get_xlim()
    assert roof == near([(low, 20 * low), (10.0, 200.0), (high, 200.0)])
    assert low < 0.125 and high > 40 and uprights(axes) == [10.0] and ridge[0][0] == 10.0
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylabel()) == ("log", "log", "GFLOP/s")
    assert axes.get_xlabel().startswith("operations a byte\n/cpu:0 float32, measured")
    threads, dots = marks[::2], [mark for (mark,) in marks[1::2]]
    assert dots == near([(0.125, 2.0), (0.5, 9.0), (40.0, 150.0)])
    assert threads == near([[(0.125, 2.0), (0.125, 2.5)], [(0.5, 9.0), (0.5, 10.0)], [(40.0, 150.0), (40.0, 200.0)]])
    bottom, top = axes.get_ylim()
    assert bottom < 20 * low and 200 < top < 2000
    labels = words(axes)
    assert labels["mv (recorded)"] == near((0.5, 9.0)) and labels["ridge: 10"] == near((10.0, 200.0))
    assert labels["200 GFLOP/s"] == near((high, 200.0))
    (middle, height) = labels["memory: 20 GB/s"]
    assert height == pytest.approx(20 * middle) and low < middle < 10


def test_an_ops_sizes_are_a_line_through_their_speeds_and_all_is_in_the_picture():
    sizes = [(0.02, 1e9), (0.5, 8e9), (900.0, 180e9)]
    axes = axes_of(draw.roofline, ROOF, [Point("n = 64", 0.5, 8e9)], "memory-bound", sizes)
    assert lines(axes)[2] == near([(0.02, 1.0), (0.5, 8.0), (900.0, 180.0)])
    assert axes.get_title(loc="left") == "memory-bound" and words(axes)["n = 64"] == near((0.5, 8.0))
    assert axes.get_xlim()[0] < 0.02 and axes.get_xlim()[1] > 900 and axes.get_ylim()[0] < 1


# --- darts -----------------------------------------------------------------------------------------------------------


def test_darts_lie_where_they_fell_and_the_band_is_two_standard_errors_wide():
    x, y = np.array([0.1, 0.9, 0.5, 0.8]), np.array([0.2, 0.9, 0.5, 0.7])
    running = [SimpleNamespace(samples=n, value=v, standard_error=e) for n, v, e in ((10, 3.2, 0.5), (100, 3.1, 0.16))]
    square, path = axes_of(draw.darts, x, y, running)
    inside, outside = (part.get_offsets().tolist() for part in square.collections)
    assert inside == near([[0.1, 0.2], [0.5, 0.5]]) and outside == near([[0.9, 0.9], [0.8, 0.7]])
    assert square.get_xlim() == square.get_ylim() == (0, 1) and square.get_aspect() == 1
    assert square.get_xlabel() == "4 of the 100 darts"
    assert levels(path) == [pi] and lines(path)[1] == near([(10.0, 3.2), (100.0, 3.1)])
    (band,) = path.collections
    corners = {tuple(corner) for corner in np.round(band.get_paths()[0].vertices, 6).tolist()}
    assert corners == {(n, round(pi + s * 2 * e, 6)) for n, e in ((10, 0.5), (100, 0.16)) for s in (-1, 1)}
    assert (path.get_xscale(), path.get_xlabel(), path.get_ylabel()) == ("log", "darts", "estimate")


@pytest.mark.parametrize(
    ("counts", "labels"),
    [((32, 500), ["50", "100", "200", "500"]), ((32, 20_000), ["100", "1,000", "10,000"]), ((32, 40), [])],
)
def test_the_darts_axis_has_as_many_labels_as_have_room(counts, labels):
    running = [SimpleNamespace(samples=n, value=3.2, standard_error=0.5) for n in counts]
    path = axes_of(draw.darts, np.array([0.1]), np.array([0.2]), running)[1]
    assert [label.get_text() for label in path.get_xticklabels()] == labels
    assert not path.get_xticklabels(minor=True)


def test_the_law_of_errors_is_drawn_as_it_is():
    axes = axes_of(draw.error_law, [100, 10_000], {"chance": [0.1, 0.01], "sobol": [0.05, 0.0005]}, "It falls")
    assert lines(axes) == near([[(100.0, 0.1), (10_000.0, 0.01)], [(100.0, 0.05), (10_000.0, 0.0005)]])
    assert words(axes) == {"chance": (10_000, 0.01), "sobol": (10_000, 0.0005)}
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("darts", "root-mean-square error of pi")


# --- slices ----------------------------------------------------------------------------------------------------------


def test_a_slices_bar_has_its_sum_as_area_and_stands_over_its_own_numbers():
    values = (1.0, 3.0, -2.0, 4.0, 6.0, 5.0)
    axes = axes_of(draw.slice_means, SliceMeans(values, (2, 0, 4), (2.0, float("nan"), 3.25), 17 / 6))
    assert bars(axes) == near([(0, 0, 2, 2.0), (2, 0, 4, 3.25)])
    assert sum(width * height for _, _, width, height in bars(axes)) == pytest.approx(sum(values))
    first, last, weighted = lines(axes)
    assert first + last == near([(at + 0.5, value) for at, value in enumerate(values)])
    assert {height for _, height in weighted} == {17 / 6} and weighted[0][0] <= 0 and weighted[1][0] >= 6
    assert axes.get_ylim()[0] <= -2 and axes.get_ylim()[1] >= 6
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("position in the data", "value")


def test_both_ways_to_join_slices_are_levels_at_their_numbers():
    axes = axes_of(draw.slice_means, SliceMeans((1.0, 1.0, 1.0, 5.0), (3, 1), (1.0, 5.0), 2.0))
    *_, weighted, averaged = lines(axes)
    assert {y for _, y in weighted} == {2.0} and {y for _, y in averaged} == {3.0}
    assert words(axes)["weighted 2"][1] == 2.0 and words(axes)["averaged 3"][1] == 3.0


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("second", "unit", "shown"), [(1.0, "s", 1.0), (1e-3, "ms", 1.0), (1e-6, "µs", 1.0)])
def test_lanes_are_in_the_unit_that_their_axis_names(second, unit, shown):
    spans = [
        SimpleNamespace(lane=lane, what=what, start=(7 + start) * second, stop=(7 + stop) * second, name="mm")
        for lane, what, start, stop in (
            ("host", "launch", 0, 0.5),
            ("gpu:1 compute", "work", 1, 3),
            ("gpu:0 copy in", "copy", 0.5, 4),
            ("host", "wait", 0.5, 5),
        )
    ]
    axes = axes_of(draw.lanes, spans, [7 * second, 12 * second], "Who is busy", "modelled: a toy")
    assert flat_bars(axes) == near([(2, 0.0, 0.5), (0, 1.0, 2.0), (1, 0.5, 3.5), (2, 0.5, 4.5)])
    assert ticks(axes.yaxis) == {"GPU:1 compute": 0, "GPU:0 copy in": 1, "host": 2}
    assert axes.get_xlim() == near((0, 5.1)) and uprights(axes) == near([0.0, 5.0])
    assert axes.get_xlabel() == f"{unit}, modelled: a toy; red lines: the stopwatch is read"
    assert [place[0] for text, place in words(axes).items() if text == "mm"] in (
        near([2.0]),
        near([2.25]),
        near([2.75]),
    )
    assert {height for *_, height in bars(axes)} == {0.5}


# --- trainings -------------------------------------------------------------------------------------------------------


def test_a_trainings_losses_stand_over_its_updates_and_staleness_is_in_percent():
    history = np.array(
        [(n + 1, n % 2, n - (n % 4 if n >= 4 else 0), 8.0 / (n + 1), 0.0, 0.0) for n in range(8)], dtype=RECORD
    )
    x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0])
    fit, losses, staleness = axes_of(draw.training, history, "It falls", (x, y), (1.5, 0.5), (2.0, 1.0))
    assert lines(losses) == near([[(n + 1, 8 / (n + 1)) for n in range(worker, 8, 2)] for worker in (0, 1)])
    assert (losses.get_yscale(), losses.get_xlabel(), losses.get_ylabel()) == ("log", "update", "loss of the batch")
    assert [height for *_, height in bars(staleness)] == near([62.5, 12.5, 12.5, 12.5])
    assert [left + width / 2 for left, _, width, _ in bars(staleness)] == near([0, 1, 2, 3])
    assert {width for _, _, width, _ in bars(staleness)} == {0.8} and {bottom for _, bottom, *_ in bars(staleness)} == {
        0
    }
    assert (staleness.get_xlabel(), staleness.get_ylabel()) == ("staleness (updates)", "% of the gradients")
    dots, best, trained = lines(fit)
    assert dots == near([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)])
    assert best == near([(0.0, 1.0), (2.0, 5.0)]) and trained == near([(0.0, 0.5), (2.0, 3.5)])
    assert (fit.get_xlabel(), fit.get_ylabel()) == ("x", "y")


def test_learning_is_over_thousands_of_images_and_over_seconds_in_percent():
    runs = {"server": [Seen(1000, 0.5, 0.5), Seen(2500, 1.0, 0.91)], "ring": [Seen(2000, 0.25, 0.75)]}
    images, seconds = axes_of(draw.learning, runs, "One is quicker", aim=0.9)
    assert levels(images) == levels(seconds) == [90.0]
    assert lines(images)[1:] == near([[(1.0, 50.0), (2.5, 91.0)], [(2.0, 75.0)]])
    assert lines(seconds)[1:] == near([[(0.5, 50.0), (1.0, 91.0)], [(0.25, 75.0)]])
    assert (images.get_xlabel(), seconds.get_xlabel()) == ("thousand images seen", "seconds")
    assert images.get_ylabel() == "% of held-out digits right" and images.get_ylim() == seconds.get_ylim()


def test_faults_are_marked_at_their_seconds_across_all_lanes():
    rows = [(n + 1, n % 2, max(0, n - 2), 10.0 / (n + 1), 0.5 * n, 0.5 * n) for n in range(20)]
    history = np.array(rows, dtype=RECORD)
    events = [
        Event(3.0, "worker lost", "/job:worker/task:1", 6),
        Event(4.5, "restored", "", 5),
        Event(2.0, "checkpoint saved", "", 4),
    ]
    losses, versions, staleness = lanes = axes_of(draw.faults, history, events, "It was hit", until=12.0)
    assert all(uprights(lane) == [3.0, 4.5] for lane in lanes)
    assert [words(losses)[word][0] for word in ("✕ worker 1 lost", "◆ restored from step 5")] == [3.0, 4.5]
    expected = [[(0.5 * n, 10 / (n + 1)) for n in range(worker, 20, 2)] for worker in (0, 1)]
    assert lines(losses)[:2] == near(expected)
    assert lines(versions)[:2] == near([[(0.5 * n, n + 1) for n in range(20)], [(2.0, 4)]])
    for worker, line in enumerate(lines(staleness)[:2]):
        drawn = {(round(at / 0.2 - 0.5), mean) for at, mean in line if not np.isnan(mean)}
        # sixty stretches of 0.2 s, a dot in the middle of each; the first two gradients are 0 and 1 updates old
        assert drawn == {(int(0.5 * n / 0.2 + 1e-9), min(n, 2.0)) for n in range(worker, 20, 2)}
    assert all(lane.get_xlim() == near((0, 12.12)) for lane in lanes) and staleness.get_xlabel() == "seconds"
    assert [lane.get_ylabel() for lane in lanes] == ["loss", "version", "staleness"]
    assert versions.get_ylim()[0] == staleness.get_ylim()[0] == 0 and versions.get_ylim()[1] > 20


def test_each_process_has_a_lane_with_what_it_did_from_second_to_second():
    lives = {
        "/job:ps/task:0": [(0.0, 8.0, "works")],
        "/job:worker/task:1": [(0.0, 1.0, "works"), (1.0, 1.6, "dead"), (1.6, 3.0, "frozen"), (3.0, 8.0, "waits")],
    }
    processes, *lanes = axes_of(draw.faults, np.array([], dtype=RECORD), [], "It was hit", until=8.0, lives=lives)
    assert ticks(processes.yaxis) == {"◆ ps 0": 0, "● worker 1": 1} and len(lanes) == 3
    assert flat_bars(processes) == near([(0, 0.0, 8.0), (1, 0.0, 1.0), (1, 1.6, 1.4)])
    assert lines(processes) == near([[(1.0, 1), (1.6, 1)], [(1.0, 1)], [(3.0, 1), (8.0, 1)]])
