"""Pictures of trainings, boards, bets and their scales in Chromium: each mark lies where Python's numbers put it."""

from math import ceil, floor, sqrt

import numpy
import pytest
import torch

from course import life
from course.widgets import CourseMap, LifePlayer
from tests.browser.exhibit_page import module
from tests.browser.look.gallery import bets, pad, watched
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
from tests.browser.test_exhibits_in_chromium import answer
from tests.course.widgets.canned_labs import Canned, InTurns
from tests.course.widgets.page_of import data_of

pytestmark = [pytest.mark.browser, pytest.mark.long]
LEFT = 116  # pixels of lanes' names


def test_ticks_are_round_numbers_on_the_scale_about_as_many_as_asked_for(opened):
    ends = [(0, 1, 6), (0, 7, 5), (3, 4, 4), (-2.5, 17, 6), (0, 1e6, 8), (0.1, 0.35, 6), (10, 61, 4), (0, 0.004, 3)]
    decades = [(1, 1e6, 8), (0.04, 2500, 8), (1e-3, 1e9, 4), (2, 1000, 4), (3, 40, 8), (0.1, 1, 8), (20, 90, 7)]
    found = opened(CourseMap()).evaluate(
        """async ([text, linears, logs]) => {
            const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
            const { linear, logarithmic, short } = await import(url);
            const told = (make) => ([from, to, most]) => {
                const scale = make(from, to, 40, 10);
                return [scale(from), scale(to), scale.invert(25), scale.invert(scale(to)), scale.ticks(most)];
            };
            const least = linear(0, 3, 0, 1).ticks(9, 1);
            const words = [0, 7, 999, 1000, 1234, -56789, 1e6, 2.5e9, 4e12, 0.25].map(short);
            return [linears.map(told(linear)), logs.map(told(logarithmic)), least, words, linear(2, 2, 5, 9)(2)];
        }""",
        [module("scales.js") + "\nexport { linear, logarithmic, short };", ends, decades],
    )
    linears, logs, least, letters, alone = found
    assert (least, alone) == ([0, 1, 2, 3], 5) and letters == "0,7,999,1 k,1.23 k,-56.8 k,1 M,2.5 G,4 T,0.25".split(",")
    for (begin, end, most), (first, last, middle, back, ticks) in zip(ends, linears, strict=True):
        assert (first, last, middle, back) == pytest.approx((40, 10, (begin + end) / 2, end))
        step = min(
            times * 10**power
            for power in range(-4, 7)
            for times in (1, 2, 5)
            if times * 10**power * most >= (end - begin) * (1 - 1e-9)
        )
        assert ticks == pytest.approx(numpy.arange(ceil(begin / step - 1e-9), floor(end / step + 1e-9) + 1) * step)
    for (begin, end, most), (first, last, middle, back, ticks) in zip(decades, logs, strict=True):
        assert (first, last, middle, back) == pytest.approx((40, 10, sqrt(begin * end), end))
        powers = [power for power in range(-5, 12) if begin <= 10.0**power <= end]
        step = max(1, ceil((powers[-1] - powers[0]) / most)) if powers else 1
        whole = [10.0**power for power in powers[::step]]
        between = [
            times * 10.0**power for power in range(-5, 12) for times in (1, 2, 5) if begin <= times * 10.0**power <= end
        ]
        assert ticks == pytest.approx(whole if len(whole) > 2 else between)


# --- trainings ---


def loss_panel(page, image, losses, limit):
    """Assert that each loss's letter stands at its update and its value, by powers of ten, and that few hide others."""
    wide = width(page, image)
    points = [point for own in losses.values() for point in own]
    least, most = min(loss for _, loss in points), max(loss for _, loss in points)
    x = linear(0, max([limit, *(step for step, _ in points)]), 44, wide - 14)
    y = logarithmic(least / 1.2, max(most, 3 * least) * 1.2, 196, 24)
    shown = max(8, 120 // len(losses))
    marks = [
        ("ABC"[int(who)], step, loss) for who, own in losses.items() for step, loss in own[:: ceil(len(own) / shown)]
    ]
    found = words(page, f"{image} text.loss")
    assert [letter for letter, *_ in found] == [letter for letter, *_ in marks]
    same([one[1:] for one in found], [(x(step), y(loss) + 3) for _, step, loss in marks])
    axis_below(page, image, x, 196, 44, wide - 14)
    axis_left(page, image, y, 44, 24, 196, wide - 14)


def late_panel(page, image, staleness):
    """Assert that a bar for each number of updates is as high as the share of gradients that came so late."""
    wide, shown = width(page, image), staleness[:9]
    x, y = linear(-0.5, max(2.5, len(shown) - 0.5), 34, wide - 6), linear(0, 100, 196, 24)
    long = max(4, x(1) - x(0) - 6)
    bars = [(x(late) - long / 2, long, y(100 * share), 196 - y(100 * share)) for late, share in enumerate(shown)]
    drawn(page, f"{image} rect.late", "x width y height", bars)
    axis_left(page, image, y, 34, 24, 196, wide - 6)


def panel(place):
    return f".panels > div:nth-child({place}) svg"


def test_a_dashboard(opened):
    exhibit = watched()
    page, found = opened(exhibit), exhibit.answer(exhibit.result)
    loss_panel(page, panel(1), found["losses"], found["limit"])
    late_panel(page, panel(2), found["staleness"])
    wide, rates = width(page, panel(3)), found["rates"]
    x, y = linear(0, rates[-1][0], 48, wide - 8), linear(0, 1.1 * max(rate for _, rate in rates), 196, 24)
    line = [number for second, rate in rates for number in (x(second), y(rate))]
    drawn(page, f"{panel(3)} polyline.rate", "points", [line])
    axis_below(page, panel(3), x, 196, 48, wide - 8)
    axis_left(page, panel(3), y, 48, 24, 196, wide - 8)


def test_a_line_that_workers_train(opened):
    exhibit = InTurns(steps=600).wait()
    page, found, data = opened(exhibit), exhibit.answer(exhibit.result), data_of(exhibit)
    image, wide = panel(1), width(page, panel(1))
    begin, end = min(data["x"]), max(data["x"])
    x, y = linear(begin, end, 38, wide - 10), linear(min(data["y"]) - 0.5, max(data["y"]) + 0.5, 196, 24)
    points = [(x(place), y(value), 2) for place, value in zip(data["x"], data["y"], strict=True)]
    drawn(page, f"{image} circle.point", DOT, points)
    for name, (slope, intercept) in (("best", data["best"]), ("trained", found["line"])):
        line = (x(begin), y(slope * begin + intercept), x(end), y(slope * end + intercept))
        drawn(page, f"{image} path.{name}", "d", [line])
    axis_below(page, image, x, 196, 34, wide - 6)
    axis_left(page, image, y, 34, 24, 196, wide - 6)
    loss_panel(page, panel(2), found["losses"], 0)
    late_panel(page, panel(3), found["staleness"])


def test_a_training_that_was_hit(opened):
    exhibit = Canned(seconds=9).wait()
    page, found = opened(exhibit), exhibit.answer(exhibit.result)
    image, wide, tasks = ".faults", width(page, ".faults"), [*found["lives"]]
    x = linear(0, found["until"], LEFT, wide - 8)
    top = {task: 50 + 26 * row for row, task in enumerate(tasks)}
    group = f"{image} g.ghost"
    dots, works = [], {}
    for task, lives in found["lives"].items():
        for begin, end, what in lives:
            place = (x(begin), top[task], max(1, x(end) - x(begin)), 15)
            if what == "works":
                works.setdefault(task, []).append(place)
            elif what == "waits":
                dots.append(place)
    for task, kind in zip(tasks, ["ps" if "ps" in task else f"w{task[-1]}" for task in tasks], strict=True):
        drawn(page, f"{group} rect.works.{kind}", BOX, works[task])
    drawn(page, f"{group} rect:not(.works):not(.frozen)", BOX, dots)
    dead = [
        (task, begin, end) for task, lives in found["lives"].items() for begin, end, what in lives if what == "dead"
    ]
    drawn(page, f"{group} path.gone", "d", [(x(begin), top[task] + 7.5, x(end)) for task, begin, end in dead])
    crosses = [(x(begin) - 6, top[task] + 1.5, 12, 12, -12, 0, 12, -12) for task, begin, _ in dead]
    drawn(page, f"{group} path.cross", "d", crosses)
    drawn(
        page, f"{group} path.back", "d", [(x(end), top[task] - 4, 23) for task, _, end in dead if end < found["until"]]
    )
    low = 24 + 26 * (1 + len(tasks)) + 18
    version = linear(0, max(step for _, step in found["versions"]), low + 78, low)
    values = [loss for own in found["losses"].values() for _, loss in own]
    loss = logarithmic(min(values) / 1.2, max(max(values), 3 * min(values)) * 1.2, low + 182, low + 104)
    late = linear(0, max([1, *(late for own in found["late"].values() for _, late in own)]), low + 260, low + 208)
    (first, *rest) = found["versions"]
    steps = [x(first[0]), version(first[1]), *(number for at, step in rest for number in (x(at), version(step)))]
    drawn(page, f"{group} path.version", "d", [steps])
    for worker in "012":
        series = [
            [(x(at), loss(value), 0) for at, value in found["losses"][int(worker)]],
            [(x(at), late(value), 0) for at, value in found["late"][int(worker)]],
        ]
        drawn(page, f"{group} path.dots.w{worker}", "d", series)
    saved = [(x(at), 24, 15) for at, _ in found["saved"]] + [
        (x(at), version(step) - 5, 10) for at, step in found["saved"]
    ]
    drawn(page, f"{group} path.saved", "d", saved)
    (back,) = ((at, step) for at, what, _, step, *_ in found["events"] if what == "restored")
    (kept,) = (at for at, step in found["saved"] if step == back[1] and at <= back[0])
    resumed = [(x(kept), 39, x(back[0]), 50), (x(kept), version(back[1]), x(back[0]))]
    drawn(page, f"{group} path.resumed", "d", resumed)
    drawn(page, f"{group} path.arrow", "d", [(x(back[0]) - 5, 42, 5, 8, 5, -8)])
    axis_below(page, image, x, low + 260, LEFT, wide - 8)
    labels = []
    for place, (at, *_) in enumerate(found["events"], 1):
        if labels and x(at) - labels[-1][0] < 24:
            labels[-1][2] = place
        else:
            labels.append([x(at), place, place])
    told = [(f"{first}–{last}" if last > first else f"{first}", pytest.approx(at)) for at, first, last in labels]
    assert [(text, at) for text, at, y in words(page, f"{image} text.tick") if y == 12] == told
    drawn(page, f"{image} path.event", "d", [(at, 16, low + 260) for at, _, _ in labels])
    to_moment(page, 4.5)
    drawn(page, f"{image} .until", "width height", [(x(4.5), low + 262)])
    drawn(page, f"{image} path.now", "d", [(x(4.5), 16, low + 260)])
    page.mouse.click(*centre(page, image, x(3), 0.3))
    assert float(page.locator(".moment[type=range]").input_value()) == pytest.approx(3, abs=0.05)


def test_lifes_board_and_its_curve(opened):
    board = life.random_board(20, 30, 0.4, torch.Generator().manual_seed(4))
    page, living, counts = opened(LifePlayer(board)), board, [int(board.sum())]
    for _ in range(6):
        page.get_by_role("button", name="Step").press("Enter")
        living = life.step(living)
        counts.append(int(living.sum()))
    cells = """(canvas, [height, width]) => {
        const pen = canvas.getContext("2d");
        const [wide, tall] = [canvas.width / width, canvas.height / height];
        const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
        const [down, right] = [(row) => Math.floor((row + 0.3) * tall), (column) => Math.floor((column + 0.3) * wide)];
        const at = (row, column) => data[4 * (down(row) * canvas.width + right(column)) + 3];
        return [...Array(height).keys()].map((row) => [...Array(width).keys()].map((column) => at(row, column)));
    }"""
    painted = numpy.array(page.locator("canvas.board").evaluate(cells, list(board.shape)))
    assert ((painted == 255) == living.numpy().astype(bool)).all()
    image, wide = ".curve svg", width(page, ".curve svg")
    x, y = linear(0, 10, 44, wide - 12), linear(0, 1.4 * max(3, *counts), 60, 10)
    drawn(
        page,
        f"{image} path.living",
        "d",
        [[number for at, count in enumerate(counts) for number in (x(at), y(count))]],
        0.06,
    )
    axis_below(page, image, x, 60, 44, wide - 12)
    axis_left(page, image, y, 44, 4, 60, wide - 12)


def test_digits_bars(opened):
    page = opened(pad())
    assert answer(page)["best"] == 1
    same(shares(page, ".bars i"), [2, 82, *[2] * 8])


def test_bets_answers(opened):
    asked = bets("03")
    several, line = asked["several"].commit([20, 0.05 * 10]), asked["line"].commit([30, 100, 300, 900])
    page = opened(
        several.reveal([16, 250], "so"), line.reveal([20, 40, None, 20_000], "so"), address="http://course.test/bets"
    )
    lanes, sheet = (f":nth-match(svg.axis, {place})" for place in (1, 2))
    wide = shapes(page, lanes, "width")[0][0]
    x = logarithmic(0.1, 250, 12, wide - 12)
    drawn(page, f"{lanes} circle.found", DOT, [(x(16), 44, 5.5), (x(250), 118, 5.5)])
    drawn(page, f"{lanes} circle.you", DOT, [(x(20), 44, 10), (x(0.5), 118, 10)])
    drawn(page, f"{lanes} line.lane", "x1 x2 y1 y2", [(12, wide - 12, 44, 44), (12, wide - 12, 118, 118)])
    grid = shapes(page, f"{lanes} line.grid", "x1 x2 y1 y2")
    same(grid, [(x(value), x(value), 4, 152) for value in (0.1, 1, 10, 100)])
    wide = shapes(page, sheet, "width")[0][0]
    x, y = linear(0, 3, 66, wide - 28), logarithmic(10, 20_000, 230, 24)
    mine = [(x(row), y(value)) for row, value in enumerate([30, 100, 300, 900])]
    found = [(x(row), y(value)) for row, value in ((0, 20), (1, 40), (3, 20_000))]
    drawn(page, f"{sheet} circle.you", DOT, [(*point, 7) for point in mine])
    drawn(page, f"{sheet} circle.found", DOT, [(*point, 4.5) for point in found])
    drawn(page, f"{sheet} path.you", "d", [mine])
    drawn(page, f"{sheet} path.found", "d", [found])
    grid = shapes(page, f"{sheet} line.grid", "x1 x2 y1 y2")
    same(grid, [(52, wide - 14, y(value), y(value)) for value in (10, 100, 1000, 10_000)])
