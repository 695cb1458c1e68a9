"""Pictures of simulated and recorded runs in Chromium: each mark lies where Python's own numbers put it."""

import json
from math import atan2, ceil, cos, floor, log10, pi, sin

import numpy
import pytest

from course.cluster.tape.reflow import reflow
from course.scale.all_reduce import AllReduce
from course.scale.parameter_store import NEVER
from course.widgets import ClusterTimeline, Continents, ParameterStore, RequestDots, RingAllReduce
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
    to_moment,
    width,
    words,
)
from tests.browser.test_exhibits_in_chromium import a_record

pytestmark = [pytest.mark.browser, pytest.mark.long]
LEFT = 116  # pixels of lanes' names


def box(left, top, wide, high):
    """Return the numbers of a box that a path goes round: M…h…v…h…z."""
    return [left, top, wide, high, -wide]


@pytest.mark.parametrize(("design", "screen"), [("asynchronous", 900), ("ring", 900), ("synchronous", 390)])
def test_continents(opened, design, screen):
    exhibit = Continents(design)
    page, run = opened(exhibit, viewport={"width": screen, "height": 900}), exhibit.timeline
    left, parts = (LEFT, 4) if screen > 500 else (84, 2)
    order = [0, 1, 2] if design == "ring" else [-1, 0, 1, 2]
    wide, window = width(page, ".map"), max(1e6, 6e3 * exhibit.compute)
    x, top = linear(0, window, left, wide - 4), {who: 8 + 50 * row for row, who in enumerate(order)}
    drawn(page, ".map > rect", BOX, [[left, top[who], wide - 4 - left, 18] for who in order])
    for worker in range(3):
        bars = [
            (x(begins), x(min(stops, window)))
            for who, begins, stops in run.computing
            if who == worker and begins < window
        ]
        painted = [number for left, right in bars for number in box(left, top[worker], right - left, 18)]
        drawn(page, f".map path.computes.w{worker}", "d", [painted])
    lines, heads = [], []
    for source, target, sent, arrives in run.messages:
        if sent >= window:
            continue
        down = top[target] > top[source]
        begin, end = top[source] + 18 * down, top[target] + 18 * (not down)
        part = min(1, (window - sent) / (arrives - sent))
        tip = [x(min(arrives, window)), begin + part * (end - begin)]
        lines += [x(sent), begin, *tip]
        if arrives <= window:
            turn = atan2(tip[1] - begin, tip[0] - x(sent))
            corners = [
                (tip[0] - 6 * cos(turn) - side * sin(turn), tip[1] - 6 * sin(turn) + side * cos(turn))
                for side in (-2.6, 2.6)
            ]
            heads += [*tip, *corners[0], *corners[1]]
    drawn(page, ".map path.message", "d", [lines])
    drawn(page, ".map path.head", "d", [heads])
    updates = [(x(time), top[who if design == "ring" else -1] + 9) for time, who, _ in run.updates if time < window]
    drawn(page, ".map path.update", "transform", updates)
    ticks = {f"{time:g}": x(1e6 * time) for time in numpy.arange(0, window / 1e6, window / parts / 1e6)}
    ticks[f"{window / 1e6:g} simulated seconds"] = wide - 4
    assert {text: pytest.approx(at) for text, at, _ in words(page, ".map text.tick")} == ticks
    assert {y for _, _, y in words(page, ".map text.tick")} == {12 + 50 * len(order)}
    assert [(at, y) for _, at, y in words(page, ".map text.name")] == [
        (0, top[who] + 6 + row) for who in order for row in (0, 15)
    ]
    assert shapes(page, ".map", "height") == [[50 * len(order) + 16]]


def test_requests(opened):
    exhibit = RequestDots(rate=300, deadline=200)
    page, out = opened(exhibit), exhibit.outcome
    boxes = page.evaluate(
        """() => {
            const own = document.querySelector(".hall").getBoundingClientRect();
            const told = (name) => {
                const { right, top, height, width } = document.querySelector(`.hall .${name}`).getBoundingClientRect();
                return [name, [right - own.left, top - own.top, height, width]];
            };
            return Object.fromEntries(["queue", "worker", "answered", "refused", "late"].map(told));
        }"""
    )

    def places(panel, count, line):
        right, top, high, wide = boxes[panel]
        rows = 1 if line else floor((high - 40) / 11)
        first = top + (high - 9 if line else 34)
        count = min(count, rows * floor((wide - 14) / 11))
        return [(right - 12 - at // rows * 11, first + at % rows * 11) for at in range(count)]

    now, lingers = out.fullest, 0.7e6 / round(300 / 12)
    ended = [one for one, end in enumerate(out.ends) if now - lingers < end <= now]
    late = [one for one in ended if out.ends[one] - out.arrives[one] > 200_000]
    found = shapes(page, ".dots path.waiting, .dots path.gone:not(.batch)", "transform")
    same(found, places("queue", len(out.waiting(now)), False), 0.06)
    drawn(page, ".dots path.batch", "transform", places("worker", len(out.at_work(now)), False), 0.06)
    drawn(page, ".dots path.answered", "transform", places("answered", len(ended) - len(late), True), 0.06)
    left = [now - out.arrives[one] > 200_000 for one in out.waiting(now)][: len(found)]
    assert page.locator(".dots path.gone:not(.batch)").count() == sum(left)
    lengths = [len(out.waiting(at * 1e7 / 240)) for at in range(241)]
    curve = [(at, 40 - 38 * length / max(lengths)) for at, length in enumerate(lengths)]
    drawn(page, ".strip path", "d", [[0, 40, *(number for point in curve for number in point), 240, 40]], 0.06)
    drawn(page, ".strip line", "x1 y1 x2 y2", [[240 * now / 1e7, 0, 240 * now / 1e7, 40]])
    assert f"at most {max(lengths)}." in page.locator(".strip").get_attribute("aria-label")


def squares(x, y, side, masks, ranks, high=None):
    """Return the boxes of pieces around (x, y), a list for each rank's colour, of whole ones and others."""
    cell, high = side / ranks, high or side / ranks
    gap = 1 if cell > 6 else 0.4
    paths = {}
    for line, mask in enumerate(masks):
        for rank in (rank for rank in range(ranks) if mask >> rank & 1):
            left, top = x - side / 2 + rank * cell + gap / 2, y - high * len(masks) / 2 + line * high + gap / 2
            paths.setdefault((rank % 6, mask == 2**ranks - 1), []).extend(box(left, top, cell - gap, high - gap))
    return [*paths.values()]


@pytest.mark.parametrize(("ranks", "latency", "events"), [(4, 100, 4), (7, 2000, 0), (4, 100_000, 1)])
def test_a_ring_and_its_server(opened, ranks, latency, events):
    page = opened(RingAllReduce(ranks=ranks, latency=latency))
    run = AllReduce(ranks, 318_040, 1.25e8, latency / 1e6)
    for _ in range(events):
        page.get_by_role("button", name="Next event").press("Enter")
    now = json.loads(page.locator(".stage").get_attribute("data-now"))["now"]
    ring, server, lanes, growth = (
        ".duel > div:first-child svg",
        ".duel > div:last-child svg",
        ".lanes svg",
        ".growth svg",
    )
    wide = width(page, ring)
    radius = min(wide / 2 - 40, 132)
    side = min(64, 2 * radius * sin(pi / ranks) * 0.62)
    late, alone, step = run.latency, run.alone, run.step_seconds
    done = min(run.steps, floor(now / step + 1e-9))

    def at(rank, away=radius):
        return wide / 2 + away * sin(2 * pi * rank / ranks), radius + 52 - away * cos(2 * pi * rank / ranks)

    frames = [(x - side / 2, y - side / 2, side, side) for x, y in map(at, range(ranks))]
    drawn(page, f"{ring} rect.frame:not(.packet)", BOX, frames)
    margin = 1.15 * float(numpy.arcsin(min(0.95, side / 2 / radius))) * ranks / (2 * pi)

    def arc(rank, begin, end):
        first, last = (at(rank + margin + part * (1 - 2 * margin)) for part in (begin, end))
        return [*first, radius, radius, 0, 0, 1, *last]

    drawn(page, f"{ring} path.link", "d", [arc(rank, 0, 1) for rank in range(ranks)])
    masks, within = run.pieces(done), max(0, now - done * step)
    cells = [numbers for rank in range(ranks) for numbers in squares(*at(rank), side, masks[rank], ranks)]
    if within > 1e-12:
        dip = (0.8 * side if ranks > 5 else 0) * sin(pi * within / step)
        head, tail = min(1, within / late), max(0, (within - alone / ranks) / late)
        drawn(page, f"{ring} path.stream", "d", [arc(rank, tail, head) for rank in range(ranks) if head > tail])
        packets = []
        for rank in range(ranks):
            x, y = at(rank + within / step, radius - dip)
            high = max(7, side / ranks)
            cells += squares(x, y, side, [masks[rank][(rank - done) % ranks]], ranks, high)
            packets.append((x - side / 2, y - high / 2, side, high))
        drawn(page, f"{ring} rect.frame.packet", BOX, packets)
    else:
        tops = [
            (x, y - side / 2 + (rank - done) % ranks * side / ranks)
            for rank, (x, y) in enumerate(map(at, range(ranks)))
        ]
        drawn(page, f"{ring} rect.next", BOX, [(x - side / 2, top, side, side / ranks) for x, top in tops])
    drawn(page, f"{ring} path.cell", "d", cells, 0.006)
    heights = shapes(page, ring, "height") + shapes(page, server, "height")
    same(heights, [[2 * radius + 52 + side / 2 + 32]] * 2)
    spokes = [(*at(rank, 34), *at(rank, radius - side / 2 - 2)) for rank in range(ranks)]
    drawn(page, f"{server} path.link", "d", spokes)
    drawn(page, f"{server} path.ps", "transform", [(wide / 2, radius + 52)])
    pushes = [
        (rank, (now - rank * alone) / (alone + late))
        for rank in range(ranks)
        if rank * alone <= now < rank * alone + alone + late
    ]
    solid = shapes(page, f"{server} rect.frame.packet.solid", BOX)
    centres = [at(rank, 34 + (1 - part) * (radius - side / 2 - 40)) for rank, part in pushes]
    same(solid, [(x - 12, y - 12, 24, 24) for x, y in centres])
    waits = [
        (x - side / 2 - 4.5, y - side / 2 - 4.5, side + 9, side + 9)
        for x, y in (at(rank) for rank in range(ranks) if rank not in dict(pushes))
    ]
    drawn(page, f"{server} rect.waits", BOX, waits)

    longest, wide = max(run.ring_seconds, run.server_seconds), width(page, lanes)
    x = linear(0, longest, LEFT, wide - 26)
    begins = [way * (ranks * alone + late) + rank * alone for way in (0, 1) for rank in range(ranks)]
    bars = [(number * step, step, 6) for number in range(run.steps)] + [(begin, alone, 40) for begin in begins]
    painted = shapes(page, f"{lanes} > rect", "x width y height opacity")
    opacity = [1 if now >= begin + long else 0.65 if now > begin else 0.25 for begin, long, _ in bars]
    wanted = [(x(begin), max(0.6, x(long) - LEFT), y, 20) for begin, long, y in bars]
    same([one[:4] for one in painted], wanted)
    edges = {begin for begin, _, _ in bars} | {begin + long for begin, long, _ in bars}
    if all(abs(now - edge) > 1e-9 for edge in edges if edge):
        assert [one[4] for one in painted] == opacity
    drawn(page, f"{lanes} path.hand", "d", [(x(now), 2, 68)])
    axis_below(page, lanes, x, 68, LEFT, wide - 4)

    wide = width(page, growth)
    counts = [floor(2 * 500 ** (place / 48) + 0.5) for place in range(49)]
    runs = [AllReduce(count, 318_040, 1.25e8, latency / 1e6) for count in counts]
    both = {"ring": [one.ring_seconds for one in runs], "server": [one.server_seconds for one in runs]}
    x = logarithmic(2, 1000, 64, wide - 78)
    y = logarithmic(min(both["ring"] + both["server"]), max(both["ring"] + both["server"]), 158, 12)
    for name, values in both.items():
        points = [number for count, value in zip(counts, values, strict=True) for number in (x(count), y(value))]
        drawn(page, f"{growth} polyline.{name}", "points", [points])
    drawn(page, f"{growth} circle.dot", DOT, [(x(ranks), y(run.ring_seconds), 5)])
    drawn(page, f"{growth} path.dot", "transform", [(x(ranks), y(run.server_seconds))])
    drawn(page, f"{growth} path.hand", "d", [(x(ranks), 12, 158)])
    axis_below(page, growth, x, 158, 64, wide - 78)
    axis_left(page, growth, y, 64, 12, 158, wide - 78)
    signs = {text: high - 4 for text, at, high in words(page, f"{growth} text.name") if at == wide - 72}
    ends = {"● ring": y(both["ring"][-1]), "◆ server": y(both["server"][-1])}
    apart = abs(signs["● ring"] - signs["◆ server"])
    assert apart == pytest.approx(max(16, abs(ends["● ring"] - ends["◆ server"])))
    assert sum(signs.values()) == pytest.approx(sum(ends.values()))


@pytest.mark.parametrize("part", [0.004, 0.31, 0.83])
def test_a_parameter_store(opened, part):
    exhibit = ParameterStore(faults=[[2600.0, "kill", 1]], mode="async" if part < 0.8 else "sync")
    page, run = opened(exhibit), exhibit.result
    now = floor(part * run.horizon + 0.5)
    to_moment(page, now)
    wide = width(page, ".rail svg")
    right = wide - 90
    version = max([one.step for one in run.gradients if one.step != NEVER and one.applied <= now], default=0)
    gap = (right - 39) / max(5, min(40, run.counts().oldest + 2))

    def x(number):
        return max(39, right - (version - number) * gap)

    circles, late, rings, packets, crosses = [], [], [], [], []
    for worker in range(3):
        y = 62 + 46 * worker
        begun = [one for one in run.gradients if one.worker == worker and one.sent <= now]
        one = begun[-1]
        place = x(one.version)
        circles.append((place, y, 13))
        if worker == 1 and now >= 2_600_000:
            crosses.append((place - 11, y - 11, 22, 22, -22, 0, 22, -22))
            continue
        if one.version < version:
            late.append((place, y, right))
        times = [(one.sent, one.begins), (one.begins, one.ends), (one.ends, one.arrives)]
        share = [(now - begin) / (end - begin) if begin <= now < end else None for begin, end in times]
        if share[0] is not None:
            packets.append((right + (place - right) * share[0], y))
        elif share[1] is not None:
            rings.append((place, y, 16, 100 * share[1], 100))
        elif share[2] is not None:
            packets.append((place + (right - place) * share[2], y))
        elif right - place > 26:
            packets.append((right, y))
    rail = ".rail svg >"
    drawn(page, f"{rail} circle.worker", DOT, circles)
    drawn(page, f"{rail} path.late", "d", late)
    drawn(page, f"{rail} circle.ring", "cx cy r stroke-dasharray", rings)
    found = shapes(page, f"{rail} circle.packet", "cx cy") + shapes(page, f"{rail} path.packet", "transform")
    same(sorted(found, key=lambda one: one[1]), packets)
    drawn(page, f"{rail} path.cross", "d", crosses)
    drawn(page, f"{rail} path.gate", "d", [(right, 32, 40 + 46 * 3)])
    drawn(page, f"{rail} path.store", "transform", [(right, 27)])
    marks = [
        (x(number), 24, 6)
        for number in range(max(0, ceil(version - max(5, min(40, run.counts().oldest + 2)))), version + 1)
    ]
    drawn(page, f"{rail} path.rule", "d", [(26, 27, right), *marks])
    for text, at, y in words(page, f"{rail} text.tick"):
        assert "late" in text or (at, y) == (pytest.approx(x(int(text))), 18)

    whole, wide = ".whole svg", width(page, ".whole svg")
    x, end = linear(0, run.horizon, 26, wide - 8), run.horizon
    bars = [(one, one.begins, one.ends) for one in run.gradients if one.ends > one.begins]
    places = [(x(begin), max(0.8, x(min(stop, end)) - x(begin)), 25 + 21 * one.worker, 13) for one, begin, stop in bars]
    drawn(page, f"{whole} > rect.work", "x width y height", places)
    waits = [
        (one, one.arrives, end if one.freed == NEVER else one.freed) for one in run.gradients if one.arrives != NEVER
    ]
    places = [
        (x(begin), max(0.8, x(min(stop, end)) - x(begin)), 25 + 21 * one.worker, 13)
        for one, begin, stop in waits
        if stop > begin
    ]
    drawn(page, f"{whole} > rect.dotted", "x width y height", places)
    applied = [*dict.fromkeys(one.applied for one in run.gradients if one.step != NEVER and one.applied <= end)]
    drawn(page, f"{whole} > path.update", "d", [[number for at in applied for number in (x(at), 4, 13)]])
    drawn(page, f"{whole} > path.cross", "d", [(x(2_600_000) - 5, 47, 10, 11, -10, 0, 10, -11)])
    drawn(page, f"{whole} > path.now", "d transform", [(0, 0, 88, x(now), 0)])
    axis_below(page, whole, linear(0, end / 1e6, 26, wide - 8), 88, 26, wide - 8)
    press = page.locator(whole).bounding_box()
    page.mouse.click(press["x"] + x(end / 4), press["y"] + 30)
    assert float(page.locator(".moment[type=range]").input_value()) == pytest.approx(end / 4, rel=0.01)


def test_a_timeline_and_its_graph(opened):
    record, image = a_record(), ".tape.picture > svg"
    page = opened(ClusterTimeline(record))
    wide = width(page, image)
    x = linear(0, 10_000, 128, wide - 8)
    y = {lane: 22 + 40 * lane for lane in range(4)}

    def bars(rows):
        return [(x(bar.start), max(1.2, x(bar.stop) - x(bar.start)), y[bar.lane], 20) for bar in rows]

    for group in ("g.ghost", "g[clip-path$='until)']"):
        drawn(page, f"{image} {group} rect.one", "x width y height", bars(record.bars))
        moves = [
            (x(move.start), x(move.start + move.length), y[move.source] + 10, y[move.target] + 10)
            for move in record.moves
        ]
        drawn(page, f"{image} {group} line.way", "x1 x2 y1 y2", moves)
        drawn(page, f"{image} {group} path.version", "transform", [(x(8800), y[1] + 10)])
        drawn(page, f"{image} {group} path.death", "transform", [(x(5000), y[3] + 10)])
        drawn(page, f"{image} {group} path.join", "transform", [(x(5500), y[3] + 10)])
    idle = [[(2, 0, 1000), (2, 5000, 6000), (2, 8000, 10_000)], [(3, 0, 2000)], [(3, 5500, 9000)]]
    painted = [
        [number for lane, begin, end in row for number in (x(begin), y[lane], x(end), 20, x(begin))] for row in idle
    ]
    drawn(page, f"{image} path.waits", "d", painted)
    assert [(at, up) for _, at, up in words(page, f"{image} text.name")] == [(0, y[lane] + 14) for lane in range(4)]
    high = 22 + 4 * 40 + 10
    axis_below(page, image, lambda seconds: x(1e5 * seconds), high, 128, wide - 8)
    assert shapes(page, image, "height") == [[high + 24]]
    graph = ".tape.graph svg"
    spots = [(14, 14), (14, 62), (14, 38), (78, 14)]  # by column, and in each from lane to lane
    drawn(page, f"{graph} circle", DOT, [(*spot, 8) for spot in spots])
    edges = [(x1 + 8, y1, (x1 + 78) / 2, y1, (x1 + 78) / 2, 14, 70, 14) for x1, y1 in (spots[0], spots[2])]
    drawn(page, f"{graph} path.edge", "d", edges)
    assert shapes(page, graph, "height") == [[90]]
    assert [text for text, *_ in words(page, f"{graph} text")] == ["A", "B", "A", "B"]
    for now, classes in (
        (8400, ["ended", "ended", "ended", "waiting"]),
        (9500, ["ended", "ended", "ended", "working"]),
    ):
        to_moment(page, now)
        drawn(page, f"{image} path.now", "d", [(x(now), 4, high)])
        drawn(page, f"{image} clipPath[id$=until] rect", "x width", [(121, x(now) - 121)])
        looks = page.locator(f"{graph} circle").evaluate_all("(all) => all.map((one) => one.getAttribute('class'))")
        assert [look.split()[1] for look in looks] == classes
        way = [(x(now), (y[2] + y[1]) / 2 + 10, 3 + 0.8 * log10(400))] if now == 8400 else []
        drawn(page, f"{image} circle.packet", DOT, way)
    page.mouse.click(*centre(page, f"{image} g[clip-path$='until)'] [data-place='2']", 5))
    page.locator("input.takes").press("End")
    longer = reflow(record.bars, record.edges, {2: 20_000})
    x = linear(0, max(bar.stop for bar in longer), 128, wide - 8)
    drawn(page, f"{image} g.ghost rect.one", "x width y height", bars(longer))
    shifted = [record.bars[place] for place in (2, 3)]
    outlines = [number for bar in shifted for number in (x(bar.start), y[bar.lane] - 3, x(bar.stop), 26, x(bar.start))]
    drawn(page, f"{image} path.before", "d", [outlines])
