"""The placement explorer and the map of the course in Chromium: their numbers are Python's; hand and key move them."""

import json
from itertools import product

import pytest

from course.chapter_times import outlook
from course.checks import check
from course.devices.explore import CPU, DEVICES, PROGRAM, READ, best, figures, replay
from course.widgets import CourseMap, PlacementExplorer
from course.widgets.placement_explorer import MODELS, WIDTHS
from course.widgets.stations import STATIONS
from tests.browser.exhibit_page import evaluated, kernel, says, why

pytestmark = [pytest.mark.browser, pytest.mark.long]
ONE = "/gpu:0"


def result(page):
    return json.loads(page.locator(".stage").get_attribute("data-result"))


def placement(page):
    return json.loads(page.locator(".stage").get_attribute("data-shown"))["placement"]


# The placement explorer


def test_the_page_and_python_reckon_the_same_for_every_placement_size_and_model(opened):
    page = opened(PlacementExplorer())
    steps = {"steps": [[step.makes, step.code, step.reads] for step in (*PROGRAM, READ)], "devices": DEVICES}
    body = """(module, figures) => {
        const digits = (number) => [243, 81, 27, 9, 3, 1].map((one) => Math.floor(number / one) % 3);
        const all = [...Array(729).keys()].map((number) => digits(number).map((digit) => figures.devices[digit]));
        const runs = all.map((placement) => module.placed(figures, placement));
        const least = module.best(figures);
        const spans = runs.filter((_, at) => at % 7 === 0).map((run) => run.spans.map((span) => span.slice(0, 4)));
        return [runs.map(({ seconds, moves }) => [seconds, moves]), spans, least.placement, least.seconds];
    }"""
    asked = [(width, model) for width in WIDTHS for model in MODELS]
    answers = evaluated(page, ["placed.js"], body, [{**steps, **figures(*one)} for one in asked])
    for (width, model), (runs, spans, least, seconds) in zip(asked, answers, strict=True):
        expected = [replay(one, width, model) for one in product(DEVICES, repeat=len(PROGRAM))]
        moves = [[[m.value, m.reader, m.origin, m.target, m.nbytes] for m in one.moves] for one in expected]
        assert runs == [[one.seconds, moved] for one, moved in zip(expected, moves, strict=True)]
        assert spans == [[plain(span) for span in one.spans] for one in expected[::7]]
        assert (tuple(least), seconds) == (best(width, model).placement, best(width, model).seconds)


def plain(span):
    """Return a span as the page has it: a GPU's engines are one lane."""
    lane = span.lane if span.lane == "host" else f"/{span.lane.split(' ')[0]}"
    return [lane, span.what, span.start, span.stop]


def test_an_op_moves_by_keys_keeps_the_focus_and_is_taken_back(opened):
    page = opened(PlacementExplorer(width=1024))
    chip = page.locator(".chip").nth(3)
    chip.focus()
    page.keyboard.press("ArrowRight")
    moved = [CPU, CPU, CPU, ONE, CPU, CPU]
    assert placement(page) == moved and result(page)["seconds"] == replay(moved, 1024).seconds
    assert chip.get_attribute("aria-valuetext") == "on /gpu:0" and chip.evaluate("e => e === document.activeElement")
    assert "3 copies more, 3.15 MB more; in all 240 µs slower" in page.locator(".sentence").inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("End")
    assert placement(page) == [CPU, CPU, "/gpu:1", ONE, CPU, CPU]
    page.keyboard.press("ArrowRight")  # there is nothing further
    undo = page.get_by_role("button", name="Undo")
    undo.press("Enter")
    assert placement(page) == moved
    undo.press("Enter")
    assert placement(page) == [CPU] * 6 and why(page, undo) == "Undo: no chip was moved."
    undo.press("Enter")
    page.get_by_role("button", name="All on /gpu:0").press("Enter")
    page.get_by_role("button", name="Reset").press("Enter")
    undo.press("Enter")
    assert placement(page) == [ONE] * 6 and result(page)["score"] == 98


def test_an_op_is_dragged_and_bytes_follow_before_it_is_let_go(opened):
    page = opened(PlacementExplorer(width=1024))
    page.locator(".chip").first.hover()  # once it stands still
    box = page.locator(".chip").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 20, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 270, middle, steps=5)
    assert placement(page)[0] == ONE and result(page)["moves"][0] == ["x", "a", CPU, ONE, 1048576]
    assert "5.24 MB" in page.locator(".picture").text_content()
    page.mouse.move(box["x"] + 530, middle, steps=5)
    page.mouse.up()
    assert placement(page) == ["/gpu:1", *[CPU] * 5]
    assert "a = x @ w" in page.locator(".chip").first.text_content()
    page.get_by_role("button", name="Undo").press("Enter")  # one drag is one step
    assert placement(page) == [CPU] * 6


def test_a_finger_drags_an_op(opened):
    page = opened(PlacementExplorer(), viewport={"width": 390, "height": 1000}, has_touch=True)
    page.locator(".chip").nth(1).scroll_into_view_if_needed()
    box = page.locator(".chip").nth(1).bounding_box()
    line = page.context.new_cdp_session(page)
    y = box["y"] + 10
    for kind, x in [("Start", 40), ("Move", 80), ("Move", 140), ("Move", 190)]:
        points = [{"x": box["x"] + x, "y": y}]
        line.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    line.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("JSON.parse(document.querySelector('.stage').dataset.shown).placement[1] === '/gpu:0'")


def test_the_best_is_hidden_until_it_is_asked_for(opened):
    page = opened(PlacementExplorer(width=1024))
    assert result(page)["score"] == 13 and page.locator(".ghost").count() == 0
    assert "best takes 1.16 ms" not in page.locator(".stage").text_content()
    page.get_by_role("button", name="Show the best").press("Enter")
    assert page.locator(".ghost").count() == 5
    said = "The best takes 1.16 ms: loss on /cpu:0; a, b, r, h, y on /gpu:0."
    assert said in page.locator(".sentence").inner_text()
    for place in range(5):
        page.locator(".chip").nth(place).press("ArrowRight")
    assert result(page)["score"] == 100 and page.locator(".ghost").count() == 0
    assert "no placement takes less" in page.locator(".stage .figure").inner_text()


def test_a_kernel_moves_the_chips_and_is_told_of_moves(opened):
    page = opened(PlacementExplorer())
    kernel(page)
    state = PlacementExplorer().state()
    says(page, pong=True, settings=state, answer={})
    says(page, number=None, settings={**state, "placement": ["/gpu:1"] * 6}, answer={})
    assert placement(page) == ["/gpu:1"] * 6 and result(page)["score"] == 98
    page.locator(".chip").first.press("ArrowLeft")
    assert page.evaluate("window.asked.at(-1).settings.placement") == [ONE, *["/gpu:1"] * 5]


# The map


def test_the_page_and_python_have_the_same_outlook(opened):
    page = opened(CourseMap())
    machines = list(product([1, 2, 3, 8, 64], [0.5, 1.3, 8], [0.25, 1, 6.9], [1.0, 2.27]))
    data = CourseMap().data()
    asked = [[data, dict(zip(("cores", "memory", "slower", "starts"), one, strict=True))] for one in machines]
    body = "(module, [data, machine]) => module.outlook(data, machine)"
    found = evaluated(page, ["course_map.js"], body, asked, room="course.widgets")
    for machine, seen in zip(machines, found, strict=True):
        assert seen == [[one.seconds, one.why] for one in outlook(*machine)]


def test_the_map_knows_what_is_done_and_what_comes_next(opened):
    passed = check(lambda rows, columns: 4 * rows * columns, "matrix_bytes")._repr_mimebundle_()["text/html"]
    page = opened(CourseMap(), address="http://course.test/00_start_here.html")
    assert page.locator(".says").inner_text() == "Begin with: 00 Start here"
    store(page, "00 matrix", "00 one core", "01 bytes")
    assert page.locator(".says").inner_text() == "Next: 01 Devices, names, placement"
    assert page.locator("[aria-current=step]").inner_text().startswith("01 Devices")
    marks = page.locator(".stations li").nth(1).locator(".done span")
    assert marks.first.get_attribute("aria-label") == "1 of 5 guesses made" and marks.first.inner_text() == "○●○○○"
    assert "0 of 41 exercises solved" in page.locator(".stage .figure").inner_text()
    page.evaluate("(html) => document.body.append(document.createRange().createContextualFragment(html))", passed)
    assert "1 of 41 exercises solved" in page.locator(".stage .figure").inner_text()
    assert page.locator(".stations li").first.get_attribute("class") == "full"
    page.reload()
    assert page.locator(".stations li").first.get_attribute("class") == "full"
    store(page, *[f"09 {name}" for name in STATIONS[9].bets])
    assert page.locator(".says").inner_text() == "The end of the line"
    forget = page.locator(".picture .bar button")
    forget.press("Enter")
    assert page.locator(".stations li").first.get_attribute("class") == "full", "it asks first"
    forget.press("Enter")
    assert page.locator(".says").inner_text() == "Begin with: 00 Start here"
    assert page.evaluate("localStorage.length") == 0


def store(page, *names):
    """Keep guesses as another tab does."""
    page.evaluate(
        """(names) => {
            for (const name of names) localStorage.setItem("course.bet." + name, "[1]");
            dispatchEvent(new StorageEvent("storage", { key: "course.bet." + names[0] }));
        }""",
        names,
    )


@pytest.mark.parametrize(
    ("address", "ending"), [("http://course.test/00.html", "html"), ("http://course.test/x", "ipynb")]
)
def test_each_name_is_a_link_to_its_chapter(opened, address, ending):
    page = opened(CourseMap(), address=address)
    links = page.locator(".stations a")
    found = [links.nth(place).get_attribute("href") for place in range(links.count())]
    assert found == [f"{station.name}.{ending}" for station in STATIONS]


def test_another_machine_has_other_bars_and_the_way_back(opened):
    page = opened(CourseMap(cores=2, memory=7.6))
    assert "No chapter should pass" in page.locator(".machine").inner_text()
    assert page.locator("input.memory").get_attribute("aria-valuetext") == "7.6 GiB"
    page.locator("input.cores").press("ArrowLeft")
    assert result(page)["found"] == [[one.seconds, one.why] for one in outlook(1, 7.6)]
    slow = [one for one in outlook(1, 7.6) if one.why]
    assert f"{len(slow)} of 10 chapters are slow on it" in page.locator(".machine").inner_text()
    assert "Another machine" in page.locator(".machine").inner_text()
    again = page.get_by_role("button", name="As it was")
    assert why(page, again) is None
    again.press("Enter")
    assert result(page)["found"] == [[one.seconds, one.why] for one in outlook(2, 7.6)]
    assert why(page, again) == "As it was: these are its own figures."
