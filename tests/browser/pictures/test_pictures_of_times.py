"""Pictures of slices, darts, times and placements in Chromium: each mark lies where Python's own numbers put it."""

import base64
import json
from math import floor, log2, log10, pi, sqrt

import numpy
import pytest

from course.devices.explore import CPU, DEVICES, PROGRAM, best, replay
from course.widgets import CourseMap, PiDarts, PlacementExplorer, RooflineExplorer, SliceMean, StopwatchComparison
from tests.browser.look.gallery import Recorded
from tests.browser.pictures.painted import (
    BOX,
    DOT,
    axis_below,
    axis_left,
    centre,
    drawn,
    linear,
    logarithmic,
    same,
    shapes,
    shares,
    to_moment,
    width,
    words,
)
from tests.course.widgets.page_of import data_of

pytestmark = [pytest.mark.browser, pytest.mark.long]
LEFT = 116  # pixels of lanes' names


def test_slices_and_the_tasks_that_add_them_up(opened):
    exhibit = SliceMean(cut=16, killed="A")
    page, found, values = opened(exhibit), exhibit.answer(exhibit.result), exhibit.values
    wide = width(page, ".slices")
    x = linear(0, len(values), 40, wide - 12)
    y = linear(min(0, *values), max(0, *values), 236, 46)
    boxes = []
    for (begin, end), mean in zip(((0, 16), (16, len(values))), found["means"], strict=True):
        boxes.append((x(begin), y(max(mean, 0)), x(end) - x(begin), y(min(mean, 0)) - y(max(mean, 0))))
    drawn(page, ".slices rect.slice", BOX, boxes)
    drawn(page, ".slices circle.value", DOT, [(x(at + 0.5), y(value), 4) for at, value in enumerate(values)])
    drawn(page, ".slices path.weighted", "d", [(40, y(found["weighted"]), wide - 12)])
    drawn(page, ".slices path.averaged", "d", [(40, y(found["averaged"]), wide - 12)])
    drawn(page, ".slices path.cut", "d", [(x(16), 38, 236)])
    drawn(page, ".slices path.grip", "transform", [(x(16), 36)])
    axis_below(page, ".slices", x, 236, 40, wide - 12)
    axis_left(page, ".slices", y, 40, 46, 236, wide - 12)
    assert page.locator(".slices rect.w0, .slices circle.w0").count() == 17
    page.mouse.move(*centre(page, ".slices", x(9.4)))
    page.mouse.down()
    page.mouse.move(*centre(page, ".slices", x(7.4)))
    page.mouse.up()
    assert page.locator("input.cut").input_value() == "7"
    for killed in ("none", "A", "B"):
        page.locator("select.killed").select_option(killed)
        exhibit = SliceMean(cut=7, killed=killed)
        spans = exhibit.answer(exhibit.result)["spans"][killed]
        join = max(stop for _, _, _, stop, _ in spans)
        x = linear(0, max(join, 1), LEFT, wide - 50)
        bars = [(x(start), 20 + 36 * task, x(stop) - x(start), 20) for task, _, start, stop, _ in spans]
        drawn(page, ".tasks rect.work", BOX, bars)
        idle = []
        for task in (0, 1):
            own = [span for span in spans if span[0] == task]
            if any(lost for *_, lost in own):
                continue
            ends, begins = [0, *(stop for _, _, _, stop, _ in own)], [*(start for _, _, start, _, _ in own), join]
            idle += [(x(a), 23 + 36 * task, x(b) - x(a), 14) for a, b in zip(ends, begins, strict=True) if b > a]
        drawn(page, ".tasks > rect:not(.work)", BOX, idle)
        dead = [(x(stop) - 7, 23 + 36 * task, 14, 14, -14, 0, 14, -14) for task, _, _, stop, lost in spans if lost]
        drawn(page, ".tasks path.death", "d", dead)
        drawn(page, ".tasks path.join", "d", [(x(join), 18, 86)])
        axis_below(page, ".tasks", x, 86, LEFT, wide - 50)


@pytest.mark.parametrize("servers", [1, 4])
def test_darts_and_their_band_of_two_standard_errors(opened, servers):
    exhibit = PiDarts(samples=20_000, servers=servers, streams="same" if servers > 1 else "own").wait()
    page, found, data = opened(exhibit), exhibit.answer(exhibit.result), data_of(exhibit)
    darts = numpy.frombuffer(base64.b64decode(found["darts"]), numpy.uint8).reshape(-1, 2) / 255
    darts = darts[: min(20_000 // servers, int(len(darts) * (1 / servers)))]
    inside = (darts**2).sum(1) < 1
    places = numpy.stack([4 + darts[:, 0] * 232, 236 - darts[:, 1] * 232], 1)
    (painted,) = shapes(page, ".disc path.inside", "d")
    assert numpy.allclose(numpy.reshape(painted, (-1, 3))[:, :2], places[inside], atol=0.06)
    (painted,) = shapes(page, ".disc path.outside", "d")
    assert numpy.allclose(
        numpy.reshape(painted, (-1, 8)), [(x - 2, y - 2, 4, 4, -4, 0, 4, -4) for x, y in places[~inside]], atol=0.06
    )
    drawn(page, ".disc path.arc", "d", [(4, 4, 232, 232, 0, 0, 1, 236, 236)])
    drawn(page, ".disc rect.frame", BOX, [(4, 4, 232, 232)])

    image, running = ".path svg", found["running"]
    wide, last, first = width(page, image), running[-1][0], running[0][0]
    shared = servers
    crowd = {}
    errors = numpy.frombuffer(base64.b64decode(data["others"]["errors"][exhibit.method]), numpy.int16)
    errors = errors.reshape(-1, len(data["others"]["counts"]))
    for stop in data["stops"]:
        if stop // shared in data["others"]["counts"] and stop <= 20_000 and stop / shared >= data["fewest"]:
            column = data["others"]["counts"].index(stop // shared)
            crowd[stop] = pi + errors[:, column] / data["others"]["scale"] / sqrt(stop // shared)
    reach = max(
        [max(2 * error, abs(value - pi)) for _, value, error in running]
        + [abs(one - pi).max() for one in crowd.values()]
    )
    x = logarithmic(first, max(last, 2 * first), 48, wide - 20)
    y = linear(pi - 1.05 * reach, pi + 1.05 * reach, 222, 10)
    upper = [(x(count), y(pi + 2 * error)) for count, _, error in running]
    lower = [(x(count), y(pi - 2 * error)) for count, _, error in running]
    drawn(page, f"{image} polygon.band", "points", [[number for point in upper + lower[::-1] for number in point]])
    walk = [(x(count), y(value)) for count, value, _ in running]
    drawn(page, f"{image} polyline.walk", "points", [[number for point in walk for number in point]])
    drawn(page, f"{image} circle.step", DOT, [(*point, 2.5) for point in walk])
    drawn(page, f"{image} path.pi", "d", [(48, y(pi), wide - 20)])
    dots = [
        number
        for count, values in crowd.items()
        if count >= first
        for value in values
        for number in (x(count), y(value), 0)
    ]
    drawn(page, f"{image} path.others", "d", [dots], 0.06)
    axis_below(page, image, x, 222, 48, wide - 20)
    axis_left(page, image, y, 48, 10, 222)
    within = sum(abs(crowd[last] - pi) <= 2 * running[-1][2])
    assert f"Of 20 other seeds {within} end inside it." in page.locator(".sentence").inner_text()


def test_a_products_times_by_size(opened):
    exhibit = Recorded().wait()
    page, found, data = opened(exhibit), exhibit.answer(exhibit.result), data_of(exhibit)
    known = [answer for differs, answer in data["grid"] if differs.get("gpu", data["settings"]["gpu"]) == "h200"]
    image, wide = ".sizes", width(page, ".sizes")
    both = [one[device]["total"] for one in [*known, found] for device in ("cpu", "gpu")]
    x = logarithmic(data["sizes"][0], data["sizes"][-1], 60, wide - 20)
    y = logarithmic(min(both) / 1.5, max(both) * 1.5, 214, 12)
    for device in ("cpu", "gpu"):
        line = [number for one in known for number in (x(one["size"]), y(one[device]["total"]))]
        drawn(page, f"{image} path.line.{device}", "d", [line])
        drawn(page, f"{image} circle.{device}", DOT, [(x(found["size"]), y(found[device]["total"]), 7)])
    drawn(page, f"{image} path.here", "d", [(x(found["size"]), 12, 214)])
    assert {int(text): pytest.approx(at) for text, at, high in words(page, f"{image} text.tick") if high == 231} == {
        size: x(size) for size in data["sizes"]
    }
    axis_left(page, image, lambda seconds: y(1e3 * seconds), 60, 12, 214, wide - 20)
    longest = max(found["cpu"]["total"], found["gpu"]["total"])
    cpu, gpu, copies = found["cpu"]["total"], found["gpu"]["total"], found["gpu"]["copies"]
    wanted = [100 * cpu / longest, 100 * gpu * (1 - copies) / longest, 100 * gpu * copies / longest]
    same(shares(page, ".list i"), wanted, 0.006)
    size = data["sizes"][3]
    page.mouse.click(*centre(page, image, x(size) + 3))
    assert json.loads(page.locator(".stage").get_attribute("data-shown"))["size"] == size


def test_a_roofline(opened):
    exhibit = RooflineExplorer().wait()
    page, found = opened(exhibit), exhibit.answer(exhibit.result)
    image, wide, peak, bandwidth = ".roofline", width(page, ".roofline"), found["peak"], found["bandwidth"]
    lowest = min([min(peak, 0.08 * bandwidth)] + [stop["speed"] for stop in found["stops"] if stop["speed"]])
    x = logarithmic(0.04, 2500, 62, wide - 8)
    y = logarithmic(10 ** floor(log10(lowest)), 4 * peak, 268, 22)
    drawn(page, f"{image} path.roof", "d", [(62, y(0.04 * bandwidth), x(found["ridge"]), y(peak), wide - 8)])
    drawn(page, f"{image} path.ridge", "d", [(x(found["ridge"]), y(peak), 268)])
    stops = [(x(stop["intensity"]), y(stop["speed"] or stop["bound"])) for stop in found["stops"]]
    drawn(page, f"{image} circle.stop", DOT, [(*stop, 3.5) for stop in stops])
    track = [number for stop, at in zip(found["stops"], stops, strict=True) if stop["speed"] for number in at]
    drawn(page, f"{image} polyline.track", "points", [track])
    (here,) = (place for place, stop in enumerate(found["stops"]) if stop["size"] == exhibit.size)
    drawn(page, f"{image} circle.handle", DOT, [(*stops[here], 9)])
    bound = min(peak, bandwidth * found["stops"][here]["intensity"])
    drawn(page, f"{image} path.missing", "d", [(stops[here][0], y(bound), stops[here][1])])
    axis_below(page, image, x, 268, 62, wide - 8)
    axis_left(page, image, y, 62, 22, 268, wide - 8)
    place = page.locator(image).bounding_box()
    page.mouse.click(place["x"] + stops[0][0], place["y"] + stops[0][1])
    assert f"n = {found['stops'][0]['size']}," in page.locator(".stage .figure").inner_text()


@pytest.mark.parametrize("size", [16, 4096])
def test_stopwatches(opened, size):
    exhibit = StopwatchComparison(size=size)
    page, found = opened(exhibit), exhibit.answer(exhibit.result)
    readings = [one["seconds"] for one in found["readings"]]  # in microseconds
    same(shares(page, ".list i"), [100 * log10(one / 0.5) / log10(max(readings) / 0.5) for one in readings], 0.006)
    chosen = found["readings"][data_of(exhibit)["watches"].index(exhibit.watch)]
    spans, image, wide = chosen["spans"], ".race", width(page, ".race")
    names = ["host", *sorted({lane for lane, *_ in spans} - {"host"})]
    first, last = min(start for _, _, start, _ in spans), max(stop for *_, stop in spans)
    unit = next((size for size in (1e6, 1e3, 1) if last - first >= size), 1)
    x = linear(0, last - first, LEFT, wide - 4)
    bars = [
        (x(start - first), max(1, x(stop) - x(start)), 34 + 40 * names.index(lane), 22)
        for lane, _, start, stop in spans
    ]
    drawn(page, f"{image} > rect", "x width y height", bars)
    low = 26 + 40 * len(names)
    drawn(page, f"{image} path.read", "d", [(x(moment - first), 22, low) for moment in chosen["read"]])
    axis_below(page, image, lambda value: x(value * unit), low, LEFT, wide - 4)
    assert shapes(page, image, "height") == [[low + 38]]
    to_moment(page, (last - first) / 3)
    drawn(page, f"{image} path.hand", "d", [(x((last - first) / 3), 26, low)], 0.01)
    begun = [1 if start - first <= (last - first) / 3 else 0.15 for _, _, start, _ in spans]
    drawn(page, f"{image} > rect", "opacity", [[one] for one in begun])


def test_a_placement(opened):
    placement = ["/gpu:0", "/gpu:1", "/gpu:1", *["/gpu:0"] * 3]
    page = opened(PlacementExplorer(placement, model="T4", reveal=True))
    image, run = ".picture > svg", replay(placement, PlacementExplorer().width, "T4")
    wide = width(page, image)
    column, chip = wide / 3, min(156, wide / 3 - 22)
    middle = {device: column * (place + 0.5) for place, device in enumerate(DEVICES)}
    row = [71 + 50 * place for place in range(7)]
    columns = [(column * place + 3, 2, column - 6, row[6] + 21) for place in range(3)]
    drawn(page, f"{image} > rect.column", BOX, columns)
    chips = page.locator(f"{image} .chip").evaluate_all("(all) => all.map((one) => one.style.transform)")
    assert chips == [f"translate({middle[device]:g}px, {row[place]}px)" for place, device in enumerate(placement)]
    drawn(page, f"{image} .chip rect", BOX, [(-chip / 2, -15, chip, 30)] * 6)
    least = best(PlacementExplorer().width, "T4").placement
    ghosts = [
        (middle[device] - chip / 2, row[at] - 15, chip, 30)
        for at, device in enumerate(least)
        if device != placement[at]
    ]
    drawn(page, f"{image} > rect.ghost", BOX, ghosts)

    where = dict(zip([step.makes for step in PROGRAM], range(6), strict=True))
    lines, tips, stays = [], [], []
    for at, (step, device) in enumerate(zip([*PROGRAM, None], [*placement, CPU], strict=True)):
        reads = step.reads if step else [PROGRAM[-1].makes]
        makes = step.makes if step else None
        moved = {
            move.value: move.nbytes
            for move in run.moves
            if move.reader == makes or (step is None and move.reader not in where)
        }
        arrive = sum(moved.get(value, 0) for value in reads if value not in where)
        edge = middle[device] - chip / 2
        if arrive:
            given = ", ".join(value for value in reads if value not in where)
            lines.append((min(12 + 8 * len(given), middle[CPU] + chip / 2) + 4, row[at] - 7, edge - 9, arrive))
            tips.append((edge - 1, row[at] - 7))
        for value in (value for value in reads if value in where):
            source, origin, nbytes = where[value], placement[where[value]], moved.get(value, 0)
            side = (middle[device] > middle[origin]) - (middle[device] < middle[origin])
            out, up = middle[origin] + (chip / 2 if side > 0 else -chip / 2), row[source]
            if not side and source == at - 1:
                stays.append((middle[device], up + 15, row[at] - 15))
            elif not side:
                stays.append((middle[device] + chip / 2, up + 5, 2, 6, 0, 6, 6, row[at] - 12, 0, 6, -6, 6, -2))
            elif source == at - 1:
                turn = (side * 8, 0, side * 8, 8)
                lines.append((out, up + 7, middle[device] - side * 8, *turn, row[at] - 24, nbytes))
                tips.append((middle[device], row[at] - 16))
            else:
                enter, gutter = middle[device] - side * chip / 2, middle[device] - side * column / 2
                lines.append(
                    (out, up + 7, gutter - side * 8, side * 8, 0, side * 8, 8, row[at] - 7, enter - side * 8, nbytes)
                )
                tips.append((enter - side, row[at] - 7))
    drawn(page, f"{image} path.moves", "d stroke-width", [(*line[:-1], 1.5 + log2(1 + line[-1]) / 4) for line in lines])
    drawn(page, f"{image} path.stays", "d stroke-width", [(*line, 1) for line in stays])
    drawn(page, f"{image} path.tip", "transform", tips)

    runs = [run, replay(least, PlacementExplorer().width, "T4")]
    unit, seconds = next(
        (1 / second, one.seconds)
        for one in [max(runs, key=lambda one: one.seconds)]
        for second in (1, 1e-3, 1e-6)
        if one.seconds >= second
    )
    x, lanes, bars = linear(0, seconds, LEFT, wide - 4), ["host", "gpu:0", "gpu:1"], []
    for number, one in enumerate(runs):
        top = 46 + 350 + 28 + number * 108
        for span in one.spans:
            bars.append(
                (
                    x(span.start),
                    max(0.7, x(span.stop) - x(span.start)),
                    top + 26 * lanes.index(span.lane.split(" ")[0]),
                    18,
                )
            )
    drawn(page, f"{image} > rect:not(.column):not(.ghost)", "x width y height", bars)
    low = 46 + 350 + 28 + 108 + 78 - 4
    axis_below(page, image, lambda value: x(value / unit), low, LEFT, wide - 4)
    assert shapes(page, image, "height") == [[46 + 350 + 2 * 108 + 44]]


def test_the_courses_map(opened):
    exhibit = CourseMap(cores=1, memory=1, slower=2.0)
    page, data = opened(exhibit), data_of(exhibit)
    found = json.loads(page.locator(".stage").get_attribute("data-result"))["found"]
    longest = max(1.25 * data["limit"], *(seconds for seconds, _ in found))
    same(shares(page, ".stations .long i"), [100 * seconds / longest for seconds, _ in found], 0.01)
    same(shares(page, ".stations .long b", "left"), [100 * data["limit"] / longest] * len(found), 0.01)
