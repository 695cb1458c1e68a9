"""Exhibits in Chromium without a kernel: the page's numbers are Python's, keys move them, a phone shows them whole."""

import json
from random import Random

import numpy
import pytest

from course.cluster.tape.record import Bar, Event, Mark, Move, Record
from course.cluster.tape.reflow import reflow
from course.scale.all_reduce import AllReduce
from course.scale.continents import DESIGNS, UPDATE, continents
from course.scale.region_delays import PLACES, ROUND_TRIPS
from course.scale.waiting import SimulatedServer, arrivals, stand_in_line
from course.widgets import ClusterTimeline, Continents, RequestDots, RingAllReduce, SliceMean
from tests.browser.exhibit_page import asked, evaluated, kernel, says, shown
from tests.browser.look.gallery import EXHIBITS, networks, pad

pytestmark = [pytest.mark.browser, pytest.mark.long]
SETTINGS = [  # rate, seed, first, more, largest, queue, deadline
    (300, 8, 2100, 230, 1, 64, None),
    (429, 1, 2100, 230, 1, 1024, 50_000),
    (2500, 2, 2100, 230, 64, 256, 20_000),
    (3000, 3, 2100, 230, 8, 4, None),
    (800, 4, 1000, 0, 1, 1, 1000),
    (1, 2**32 - 1, 1, 0, 1, 1, None),
    (0.01, 0, 1, 0, 1, 1, None),  # nobody comes
    (1234.5, 2**31, 0, 777, 3, 16, 5000),
]


def numbers(out):
    """Return an outcome as the page's script tells it."""
    found = {"came": len(out.arrives) + len(out.refused), "answered": len(out.stays), "refused": len(out.refused)}
    return found | {"late": out.late, "batches": len(out.batches), "p50": out.within(50), "p99": out.within(99)}


def test_the_page_and_python_simulate_the_same(opened):
    page = opened(RequestDots())
    run = """(module, [rate, seed, first, more, largest, queue, deadline]) =>
        module.standInLine(module.arrivals(rate, 3, seed), { first, more, largest, queue, deadline })"""
    for (rate, seed, *server), found in zip(
        SETTINGS, evaluated(page, ["chance.js", "request_dots.js"], run, SETTINGS), strict=True
    ):
        expected = stand_in_line(arrivals(rate, 3, seed), SimulatedServer(*server))
        assert (found["arrives"], found["ends"]) == (list(expected.arrives), list(expected.ends))
        assert (found["refused"], found["batches"]) == (list(expected.refused), list(expected.batches))
        told = found["answered"], found["p50"], found["p99"]
        assert told == (len(expected.stays), expected.within(50), expected.within(99))


def test_keys_move_the_sliders_and_the_picture_is_of_the_new_settings(opened):
    page = opened(RequestDots(rate=300))
    assert shown(page) == numbers(RequestDots(rate=300).outcome)
    for name, key in (
        ("rate", "ArrowRight"),
        ("largest", "ArrowRight"),
        ("queue", "ArrowLeft"),
        ("deadline", "ArrowLeft"),
    ):
        page.locator(f".sliders .{name}").press(key)
    expected = RequestDots(rate=350, largest=2, queue=32, deadline=500).outcome
    assert shown(page) == numbers(expected)
    waiting, working = len(expected.waiting(expected.fullest)), len(expected.at_work(expected.fullest))
    assert page.locator(".dots .waiting").count() == waiting > 0 and page.locator(".dots .batch").count() == working
    assert page.locator(".queue span").inner_text() == f"{waiting} of 32"
    assert f"99 of 100 within {expected.within(99) / 1e3:.1f} ms" in page.locator(".figure").inner_text()
    assert "simulated" in page.locator(".figure").inner_text() and "recorded of" in page.locator(".speed").inner_text()
    assert not page.locator(".who").is_visible()  # nothing but the page is needed
    assert page.locator(".sliders .deadline").get_attribute("aria-valuetext") == "500 ms"


def test_play_moves_the_moment_and_pause_holds_it(opened):
    page = opened(RequestDots(rate=300))
    page.get_by_role("button", name="Play").press("Enter")
    before = page.locator(".moment").input_value()
    page.wait_for_function(f"document.querySelector('.moment').value !== '{before}'", polling=50)
    page.get_by_role("button", name="Pause").press("Enter")
    held = page.locator(".moment").input_value()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.locator(".moment").input_value() == held


def test_where_less_motion_is_asked_for_nothing_moves_and_events_follow_one_by_one(opened):
    page = opened(RequestDots(rate=300), reduced_motion="reduce")
    out = RequestDots(rate=300).outcome
    assert not page.locator(".play").is_visible()
    assert page.locator(".hall .dots path.waiting").count() == len(out.waiting(out.fullest))
    page.get_by_role("button", name="Next event").press("Enter")
    later = min(time for times in (out.arrives, out.begins, out.ends) for time in times if time > out.fullest)
    said = f"Second {later / 1e6:.3f} s: {len(out.waiting(later))} requests wait, {len(out.at_work(later))} are"
    page.get_by_role("button", name="Previous event").press("Enter")
    assert not page.locator(".dots").get_attribute("aria-label").startswith(said)
    page.locator(".moment").press("ArrowRight")
    assert page.locator(".dots").get_attribute("aria-label").startswith(said)


PLACED = [  # design, workers, server, compute, wire, horizon: microseconds
    ("asynchronous", ["Virginia", "Frankfurt", "Tokyo"], "Virginia", 100_000, 0, 3_000_000),
    ("asynchronous", ["Tokyo"] * 6, "Sydney", 1_000, 3_333, 500_000),  # they come together, and stand in line
    ("synchronous", ["Virginia", "São Paulo", "Tokyo", "Sydney"], "Frankfurt", 20_000, 25_001, 3_000_000),
    ("ring", ["Sydney", "Frankfurt", "Tokyo", "Virginia"], "Virginia", 50_000, 10_001, 3_000_000),
    ("ring", ["Tokyo"], "Virginia", 50_000, 0, 300_000),
    ("ring", ["Virginia", "Virginia"], "Virginia", 10_000, 400_000, 3_000_000),
]


def test_the_page_and_python_simulate_the_same_continents(opened):
    page = opened(Continents())
    trips = {f"{one} {other}": trip for (one, other), trip in ROUND_TRIPS.items()}
    trips |= {f"{place} {place}": 1.0 for place in PLACES}
    body = """(module, [settings, world]) => {
        const run = module.continents(world, ...settings);
        return [run.computing, run.messages, run.updates, module.figures(run, settings[1].length, settings[5])];
    }"""
    asked = [[settings, {"roundTrips": trips, "update": UPDATE}] for settings in PLACED]
    for settings, found in zip(PLACED, evaluated(page, ["axes.js", "continents.js"], body, asked), strict=True):
        run = continents(*settings)
        computing, messages, updates, figures = found
        assert [tuple(one) for one in computing] == list(run.computing)
        assert [tuple(one) for one in messages] == list(run.messages)
        assert [tuple(one) for one in updates] == list(run.updates) != []
        assert figures == told(run)


def told(run):
    """Return a timeline's figures as the page's script tells them."""
    workers = range(run.workers)
    found = {"rate": run.rate, "waits": [run.waits(who) for who in workers]}
    return found | {"staleness": [run.staleness(who) for who in workers]}


def test_designs_places_and_keys_change_the_timeline(opened):
    page = opened(Continents())
    assert shown(page) == told(Continents().timeline) | {"updates": len(Continents().timeline.updates)}
    assert page.locator(".map .name").count() == 8  # two lines for each of four lanes
    for design in DESIGNS:
        page.locator("select.design").select_option(design)
        expected = Continents(design).timeline
        assert shown(page)["rate"] == expected.rate
        assert f"{expected.rate:.1f} gradients a second" in page.locator(".figure").inner_text()
    assert page.locator(".map .name").count() == 6  # a ring has no server
    page.get_by_role("button", name="one hall").press("Enter")
    page.locator(".sliders .wire").press("ArrowRight")
    page.locator("select.worker2").select_option("Sydney")
    expected = Continents("ring", ["Virginia", "Virginia", "Sydney"], wire=5).timeline
    assert shown(page)["rate"] == expected.rate
    assert page.locator(".sliders .wire").get_attribute("aria-valuetext") == "5 ms"
    assert "worker C in Sydney waits" in page.locator(".map").get_attribute("aria-label")


def test_the_page_and_python_agree_on_every_ring_and_its_server(opened):
    page = opened(RingAllReduce())
    asked = [[ranks, step] for ranks in range(2, 13) for step in range(2 * ranks - 1)]
    held = evaluated(page, ["all_reduce.js"], "(module, [ranks, step]) => module.pieces(ranks, step)", asked)
    assert held == [AllReduce(ranks, 1, 1, 0).pieces(step) for ranks, step in asked]
    links = [(ranks, size, speed, late) for ranks in (2, 3, 12) for size in (1000, 318_040) for speed, late in LINKS]
    body = """(module, [ranks, size, gigabits, latency]) => {
        const run = module.allReduce({ ranks, size, gigabits, latency });
        const last = (part) => module.served(run, ranks - 1, run.server * part)[0];
        return [run.ring, run.server, run.sent, run.through, run.even, last(0.99), last(1 + 1e-9)];
    }"""
    for (ranks, size, speed, late), found in zip(links, evaluated(page, ["all_reduce.js"], body, links), strict=True):
        run = AllReduce(ranks, size, speed * 1.25e8, late / 1e6)
        expected = [run.ring_seconds, run.server_seconds, run.sent, run.through_server, run.even]
        assert found[:5] == pytest.approx(expected, rel=1e-12) and found[5:] == ["pulls", "has the sum"]


LINKS = [(1, 100), (0.1, 100_000), (400, 1)]  # Gbit/s, µs
WITH_A_STILL = {name: made for name, made in EXHIBITS.items() if name != "film"}  # its first frame is in its page


def test_the_ring_is_stepped_followed_and_played_beside_its_server(opened):
    page = opened(RingAllReduce())

    def told(name):
        return json.loads(page.locator(".stage").get_attribute(f"data-{name}"))

    run = AllReduce(4, 318_040, 1.25e8, 1e-4)
    assert page.locator(".says").inner_text() == "ring 4.42 ms, server 20.6 ms"
    assert told("now") == {"now": 0, "step": 0, "waits": 3}
    for _ in range(2):
        page.get_by_role("button", name="Next event").press("Enter")
    assert told("now")["now"] == pytest.approx(2 * run.step_seconds) and told("shown")["step"] == 2
    assert "each rank has sent 159 kB" in page.locator(".duel svg").first.get_attribute("aria-label")
    page.locator("input.follow").press("ArrowRight")
    assert page.locator("input.follow").get_attribute("aria-valuetext") == "piece 1"
    assert page.locator(".duel svg .frame + .follow").count() == page.locator(".duel svg .next").count() == 4
    page.get_by_label("moment").press("End")
    assert told("now")["step"] == 6 and page.locator(".clock.server").inner_text() == "◆ server 20.6 ms: done"
    assert page.locator(".duel svg").first.locator(".part").count() == 0
    page.locator("input.ranks").press("Home")
    assert told("result")["ranks"] == 2 and told("shown")["step"] == 2
    page.get_by_role("button", name="few bytes").press("Enter")
    few = AllReduce(4, 1000, 1.25e8, 1e-4)
    assert few.server_seconds < few.ring_seconds == pytest.approx(told("result")["ring"])
    assert "two messages more, 201 µs" in page.locator(".sentence").inner_text()
    page.get_by_role("button", name="Play").press("Enter")
    page.wait_for_function("JSON.parse(document.querySelector('.stage').dataset.now).step >= 1", polling=50)
    page.get_by_role("button", name="Pause").press("Enter")


@pytest.mark.parametrize("made", WITH_A_STILL.values(), ids=WITH_A_STILL)
def test_without_scripts_there_is_a_still(opened, made):
    page = opened(made(), java_script_enabled=False)
    still = page.locator(".still img").first
    assert still.is_visible() and still.bounding_box()["width"] > 200 and still.get_attribute("alt")


# --- the digit pad ---------------------------------------------------------------------------------------------------


def answer(page):
    return json.loads(page.locator(".stage").get_attribute("data-answer"))


def test_without_a_kernel_a_stored_digit_has_its_stored_answer_and_a_drawing_has_none(opened):
    page = opened(pad())
    page.locator(".stored button").nth(1).press("Enter")
    assert answer(page) == {"best": 1, "version": 2, "live": False}
    assert "no kernel" in page.locator(".who").inner_text() and "Stored" in page.locator(".who").inner_text()
    assert page.locator(".figure").inner_text().split() == ["a", "1", "says", "digits,", "version", "2"]
    stroke(page, [(60, 60), (120, 100), (60, 160)])
    assert "old" in page.locator(".stage").get_attribute("class")
    said = page.locator(".who").inner_text()
    assert "Shown: the answer to the drawing before. No answer to the new setting is stored" in said
    page.get_by_role("button", name="Clear").press("Enter")
    assert page.locator(".says").inner_text() == "draw a digit"


def test_several_networks_have_a_row_each_and_say_together_whether_they_agree(opened):
    page = opened(networks())
    assert page.locator(".says").inner_text() == "a 1" and list(answer(page).values()) == [1, 1, 1]
    page.locator(".stored button").nth(1).press("Enter")
    assert page.locator(".figure").inner_text().split() == "they disagree of 3 networks 2 say 7, 1 says 2".split()
    rows = page.locator(".bars tr").evaluate_all(
        "(rows) => rows.slice(1).map((row) => row.innerText.split(/\\s+/).join(' '))"
    )
    assert rows == ["all-reduce, rank 0 7 99.9 %", "all-reduce, rank 1 7 99.9 %", "asynchronous 2 99.9 %"]
    page.get_by_role("button", name="Clear").press("Enter")
    assert page.locator(".says").inner_text() == "draw a digit" and page.locator(".bars .best").count() == 0


def test_the_kernel_is_asked_once_it_has_answered_a_ping_and_about_one_drawing_at_a_time(opened):
    page = opened(pad())
    kernel(page)
    stroke(page, [(60, 60), (120, 100), (60, 160)])
    assert asked(page) == [{"ping": 1}]  # it may be deaf
    says(page, pong=True, settings=json.loads(page.locator(".stage").get_attribute("data-shown")), answer={})
    stroke(page, [(100, 60), (100, 160)])
    first = asked(page)[1:]
    assert [one["number"] for one in first] == [1], "the second waits for the answer to the first"
    shares = {"probabilities": [0.0] * 9 + [1.0], "version": 3, "milliseconds": 4.0}
    says(page, number=1, settings=first[0]["settings"], answer=shares)
    second = asked(page)[-1]
    assert second["number"] == 2 and second["settings"] != first[0]["settings"]
    assert "old" in page.locator(".stage").get_attribute("class")  # the first answer is to no drawing that is there
    says(page, number=2, settings=second["settings"], answer=shares)
    assert answer(page) == {"best": 9, "version": 3, "live": True}
    says(page, settings=second["settings"], answer={"wrong": "nothing is ready"})
    assert "nothing is ready" in page.locator(".sentence").inner_text()


def test_a_kernel_that_is_silent_is_said_to_be_and_a_late_answer_brings_the_present_setting(opened):
    page, made = opened(SliceMean(cut=16)), {at: SliceMean(cut=at) for at in (14, 15, 16)}
    kernel(page)
    says(page, pong=True, settings=made[16].state(), answer=made[16].answer(made[16].result))
    page.locator("input.cut").press("ArrowLeft")
    page.locator(".who:text('does not answer')").wait_for()
    page.locator("input.cut").press("ArrowLeft")  # drag works all the same
    assert cut(page) == 14 and [one["settings"]["cut"] for one in asked(page)[1:]] == [15]
    says(page, number=1, settings=made[15].state(), answer=made[15].answer(made[15].result))
    assert [one["settings"]["cut"] for one in asked(page)[1:]] == [15, 14] and cut(page) == 14
    says(page, number=2, settings=made[14].state(), answer=made[14].answer(made[14].result))
    assert page.locator(".who").inner_text() == "The kernel answers."
    says(page, number=None, settings=made[16].state(), answer=made[16].answer(made[16].result))
    assert cut(page) == 16 == int(page.locator("input.cut").input_value())  # set from Python
    says(page, number=None, settings=made[15].state(), wrong="cut=21: give 0 to 20.")
    assert "give 0 to 20" in page.locator(".who").inner_text() and cut(page) == 16
    page.evaluate("window.gone()")  # as when it is restarted
    assert "no kernel" in page.locator(".who").inner_text()
    page.locator("input.cut").press("Home")
    assert cut(page) == 0 and "empty slice has no mean" in page.locator(".stage .figure").inner_text()


def cut(page):
    return json.loads(page.locator(".stage").get_attribute("data-shown"))["cut"]


def test_ink_is_soft_at_its_edge_and_a_drawing_is_sent_as_large_and_as_central_as_the_datas(opened):
    page = opened(pad())
    strokes = [[[[3, 2], [9, 4], [4.5, 8]], [[5, 5], [5, 5.5]]], [[[20, 3], [20, 27]]], [[[1, 1]]]]
    drawn = evaluated(page, ["digit_pad.js"], "({ ink }, one) => [...ink(one)]", strokes)
    for one, found in zip(strokes, drawn, strict=True):
        assert numpy.allclose(numpy.reshape(found, (28, 28)), by_distance(one), atol=1e-9)
    fitted = evaluated(page, ["digit_pad.js"], "({ ink, fitted }, one) => [...ink(fitted(one))]", strokes)
    rows, columns = numpy.mgrid[:28, :28]
    for found in fitted[:2]:
        sheet = numpy.reshape(found, (28, 28))
        assert abs((sheet * rows).sum() / sheet.sum() - 13.5) < 0.1 > abs((sheet * columns).sum() / sheet.sum() - 13.5)
        inked = sheet > 0.25
        assert 19 <= max(inked.any(0).sum(), inked.any(1).sum()) <= 22


def drawn_run(seed):
    """Bars on a few lanes that follow each other, with edges, and lengths that some of them take instead."""
    random = Random(seed)
    bars, edges, free, start = [], [], {}, 0
    for place in range(random.randint(1, 40)):
        lane, asked = random.randint(0, 3), random.randint(0, 900)
        sources = {random.randrange(place) for _ in range(random.randint(0, 3))} if place else set()
        ready = max([start, asked, free.get(lane, 0), *(bars[one].stop for one in sources)])
        start = ready + random.randint(-60, 40)  # clocks that differ, and two at once
        bars.append(Bar(lane, 0, start, random.randint(0, 100), asked))
        edges += [[source, place] for source in sources]
        free[lane] = bars[-1].stop
    edges += [[place, place // 2] for place in range(0, len(bars), 7)]
    lengths = {random.randrange(len(bars)): random.randint(0, 700) for _ in range(random.randint(0, 3))}
    return bars, edges, lengths


def a_record(**more):
    """Two workers and a server; the first bar of worker 1 dies with it, bar 3 waits for bars 0 and 2."""
    bars = [
        Bar(2, 0, 1000, 4000, 900),
        Bar(3, 1, 2000, 3000, 900, 2),
        Bar(2, 1, 6000, 2000, 900),
        Bar(3, 0, 9000, 1000, 900),
    ]
    lanes = ["this process", "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    events = [Event(5000, "gone", 3), Event(5500, "joined", 3)]
    moves, marks = [Move(0, 2, 900, 100, 8000), Move(2, 1, 8000, 800, 400)], [Mark(1, 8800, 1)]
    return Record(lanes, ["first", "second"], bars, [(0, 3), (2, 3)], moves, marks, events, 10_000, **more)


def test_a_timeline_is_stepped_and_stretched_by_keys_and_mouse_and_reflows_as_python_does(opened):
    stored = a_record(label="recorded", machine="another machine", date="2026-11-23")
    page = opened(ClusterTimeline(a_record(), stored))
    drawn = [drawn_run(seed) for seed in range(200)]
    found = evaluated(page, ["reflow.js"], "(made, [bars, edges, lengths]) => made.reflow(bars, edges, lengths)", drawn)
    assert found == [[list(bar) for bar in reflow(*run)] for run in drawn]

    def told(name):
        return page.evaluate(f"document.querySelector('.exhibit .stage').dataset.{name}")

    page.keyboard.press("Tab")  # Play
    page.get_by_label("moment").focus()
    page.keyboard.press("Home")
    seen = []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen.append(told("now"))
    assert seen == ["1000", "2000", "5000"]  # a bar begins, another one, both end and a process dies
    assert page.locator(".figure .moment").inner_text() == "50.0 ms"
    picture = page.locator(".tape.picture > svg")
    picture.focus()
    page.keyboard.press("+")
    assert told("window") == "2500,7500"
    page.get_by_role("button", name="Show the whole run").click()
    assert told("window") == "0,10000"
    picture.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "● B worker 1: second, from 20.0 ms for 30.0 ms; its process died" in page.locator(".tell").inner_text()
    page.keyboard.press("ArrowRight")
    page.locator(".takes").focus()
    page.keyboard.press("End")
    record = a_record()
    longer = reflow(record.bars, record.edges, {2: 20_000})
    assert json.loads(told("result")) == {"ends": [max(bar.stop for bar in longer), 10_000], "moved": [[3], []]}
    assert "1 bar moves with it; the last bar ends 180.0 ms later" in page.locator(".finding").inner_text()
    page.get_by_role("button", name="As it was").press("Enter")
    assert json.loads(told("result"))["moved"] == [[], []]
    assert picture.evaluate("(one) => one === document.activeElement"), "the button is gone, and Tab goes on from here"
    bar = page.locator('[data-run="0"] [data-place="0"]').last.bounding_box()
    page.mouse.move(bar["x"] + bar["width"] - 2, bar["y"] + 5)
    page.mouse.down()
    page.mouse.move(bar["x"] + 1.5 * bar["width"], bar["y"] + 5, steps=3)
    page.mouse.up()
    assert json.loads(told("result"))["moved"][0] == [2, 3]
    rows = page.locator(".rows table").first.evaluate(
        "(table) => [...table.rows].map((row) => row.cells[2].textContent)"
    )
    assert rows == ["what", "first", "second", "second", "first", "gone", "joined"]


def by_distance(strokes):
    """Draw each stroke by the distance of every pixel from each of its segments: the slow way."""
    rows, columns = numpy.mgrid[:28, :28]
    sheet = numpy.zeros((28, 28))
    for stroke in strokes:
        for (x, y), (to_x, to_y) in zip([stroke[0], *stroke], stroke, strict=False):
            long = (to_x - x) ** 2 + (to_y - y) ** 2
            part = ((columns - x) * (to_x - x) + (rows - y) * (to_y - y)) / long if long else numpy.zeros_like(sheet)
            part = part.clip(0, 1)
            away = numpy.hypot(columns - x - part * (to_x - x), rows - y - part * (to_y - y))
            sheet = numpy.maximum(sheet, (1.8 - away).clip(0, 1))
    return sheet


def stroke(page, points):
    """Draw a stroke on the sheet with the mouse, points in CSS pixels from its corner."""
    box = page.locator(".sheet").bounding_box()
    for place, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
        if place == 0:
            page.mouse.down()
    page.mouse.up()
