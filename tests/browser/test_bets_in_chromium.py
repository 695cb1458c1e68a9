"""Bets in Chromium without a kernel: set, commit, keep, forget, by mouse and by keyboard, and the answer has both."""

import json
import random
from functools import partial

import pytest

from course import draw
from course.draw.picture import text_of
from course.widgets import Predict, Scorecard
from course.widgets.bets.guess import in_digits
from tests.browser.exhibit_page import why

pytestmark = [pytest.mark.browser, pytest.mark.long]
ADDRESS = "http://course.test/chapter.html"  # answered by the test itself: storage needs an address


@pytest.fixture
def opened(opened):
    """As all tests of pages have it, at an address."""
    return partial(opened, address=ADDRESS)


def number(**more):
    return Predict("How many of the six run on the GPU?", 0, 6, unit="ops", name="01 six", **more)


def where():
    return Predict("Where is the gradient?", choices=["cpu", "cuda:0", "both"], name="01 where")


def size():
    return Predict("From which n on?", 10, 10_000, log=True, name="01 size")


def rungs():
    return Predict("How many times?", 0.1, 100, log=True, unit="×", each=["one", "two"], name="01 rungs")


def curve():
    places = [1, 4, 16, 100]
    return Predict("How many a second?", 10, 10_000, log=True, over=places, across="workers", name="01 curve")


def guesses(page):
    """Return the guess that each drawing of the page shows, in their order."""
    return [
        json.loads(text) for text in page.evaluate("[...document.querySelectorAll('.bets')].map(b => b.dataset.guess)")
    ]


def folds(page):
    return page.evaluate("[...document.querySelectorAll('details.answer')].map((one) => one.open)")


def commit(page, which=0):
    page.get_by_role("button", name="Commit").nth(which).press("Enter")


def test_a_committed_number_is_locked_and_its_answer_opens_with_both_in_one_picture(opened):
    bet = number()
    page = opened(bet, bet.reveal(3, "A view stays where its memory is.", shows="the log"))
    assert folds(page) == [False] and not page.get_by_text("the log").is_visible()
    commit(page)
    assert "Set a number first, from 0 to 6 ops" in page.locator(".state").inner_text() and guesses(page) == [
        None,
        None,
    ]
    page.locator('input[type="range"]').press("ArrowLeft")  # it is there already, but not set
    assert page.locator(".box").input_value() == "0"
    page.locator('input[type="range"]').press("ArrowRight")
    assert page.locator(".box").input_value() == "1"
    page.locator(".box").fill("6")
    page.locator(".box").press("Enter")
    assert guesses(page) == [[6], [6]] and folds(page) == [True]
    assert page.locator(".figure").inner_text().split("\n") == ["it was 3 ops", "you: 6 ops, 3 ops too high"]
    assert page.locator(".axis").get_attribute("aria-label") == "It was 3 ops. You: 6 ops."
    assert "A view stays" in page.locator(".why").inner_text() and page.get_by_text("the log").is_visible()
    mine, found = (float(page.locator(f".axis circle.{kind}").get_attribute("cx")) for kind in ("you", "found"))
    ends = page.locator(".axis .lane").evaluate("(lane) => [lane.x1.baseVal.value, lane.x2.baseVal.value]")
    assert (mine, found) == pytest.approx((ends[1], sum(ends) / 2))
    assert page.locator('input[type="range"]').is_disabled() and page.locator(".box").get_attribute("readonly") == ""


def test_a_guess_that_is_none_is_not_locked_and_it_says_what_is(opened):
    page = opened(number())
    box = page.locator(".box")
    for text in ("7", "-1", "1e999", "six", ""):
        box.click(click_count=3)
        page.keyboard.press("Delete")
        page.keyboard.insert_text(text)
        page.keyboard.press("Enter")
        assert "Set a number first, from 0 to 6 ops" in page.locator(".state").inner_text(), text
        assert guesses(page) == [None]
    box.fill("6")
    box.press("Enter")
    assert guesses(page) == [[6]]


def test_guesses_outlast_a_reload_until_they_are_forgotten(opened):
    bets = [number(), where()]
    shown = [*bets, bets[0].reveal(3, "so"), bets[1].reveal("cpu", "so"), Scorecard(*bets, challenge="beat 7.27×")]
    page = opened(*shown)
    page.locator(".box").fill("3")
    commit(page)
    page.get_by_label("cuda:0").check()
    commit(page)
    kept = [[3], "cuda:0", [3], "cuda:0", [[3], "cuda:0"]]
    assert guesses(page) == kept and page.locator(".card td").all_inner_texts()[:3] == ["3 ops ✓", "3 ops", "3 ops"]
    page.reload()
    assert guesses(page) == kept and folds(page) == [True, True]
    assert page.locator(".figure .it").all_inner_texts() == ["it was 3 ops", "it was: cpu", "1 of 2 right or near"]
    forget = page.get_by_role("button", name="Forget my guesses")
    assert why(page, forget) is None
    forget.press("Enter")
    assert why(page, forget) == "Copy a link with my guesses, Forget my guesses: no guess is made yet."
    assert guesses(page) == [None, None, None, None, [None, None]] and folds(page) == [False, False]
    page.reload()
    assert guesses(page)[:2] == [None, None] and "beat 7.27×" in page.locator(".challenge").inner_text()
    page.locator(".box").fill("1")
    commit(page)
    assert guesses(page)[0] == [1]


def test_all_is_done_by_keys_alone(opened):
    bets = [number(), where(), curve()]
    page = opened(*bets, bets[2].reveal([20, 40, 80, 160], "so"))
    sliders = page.locator('input[type="range"], [role=slider]').all()
    assert {slider.get_attribute("aria-valuetext") for slider in sliders} == {"not set"}
    for key in ("Tab", "ArrowRight", "ArrowRight", "Tab", "Tab", "Enter"):  # slider, box, Commit
        page.keyboard.press(key)
    assert guesses(page)[0] == [2]
    page.keyboard.press("Enter")  # the same button goes to the answer now; this one has none
    assert "not there yet" in page.locator(".state").first.inner_text()
    for key in ("Tab", "ArrowDown", "Tab", "Enter"):
        page.keyboard.press(key)
    assert guesses(page)[1] == "cuda:0"
    for key in ("Tab", "ArrowUp", "Tab", "PageDown", "Tab", "End", "Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    first, second, third, fourth = guesses(page)[2]
    assert second < 320 < first and third == 10_000 and fourth is None
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY" and folds(page) == [True]


def test_a_place_on_a_log_axis_is_round_and_its_distance_a_factor(opened):
    bet = size()
    page = opened(bet, bet.reveal(192, "so"))
    ticks = page.locator(".ticks span")
    assert ticks.all_inner_texts() == ["10", "100", "1 k", "10 k"]
    page.locator('input[type="range"]').press("ArrowRight")
    assert page.locator(".box").input_value() == "10"
    page.locator('input[type="range"]').press("End")
    page.locator('input[type="range"]').press("ArrowLeft")
    assert page.locator(".box").input_value() == "9700"
    page.locator(".box").fill("96")
    commit(page)
    assert "you: 96, 2 times too low" in page.locator(".figure").inner_text() and guesses(page) == [[96], [96]]


def test_of_several_numbers_some_may_be_left_open_and_answers_come_one_by_one(opened):
    bet = rungs()
    page = opened(bet, bet.reveal([16], "first"), bet.reveal([16, 0.2], "second"))
    page.locator(".box").first.fill("20")
    commit(page)
    assert guesses(page) == [[20, None]] * 3
    assert [page.locator(".axis").nth(n).locator("circle").count() for n in range(2)] == [2, 3]
    assert page.locator(".figure .it").all_inner_texts() == ["1 of 1 within a factor of two"] * 2


def test_pictures_can_be_chosen_among_and_the_answer_has_them_too(opened):
    pictures = {
        name: draw.html(f"<svg width='40' height='20'><rect width='{wide}' height='9'/></svg>", name)
        for name, wide in (("short", 9), ("long", 40))
    }
    bet = Predict("Which bar?", choices=pictures, name="01 bars")
    page = opened(bet, bet.reveal("long", "so"))
    page.locator(".options svg").first.click()
    commit(page)
    assert guesses(page) == ["short"] * 2 and page.locator("ul.found li svg").count() == 2
    assert page.locator("ul.found li").all_inner_texts() == ["short: ○ you", "long: ● it was"]


def test_a_line_is_drawn_by_hand_and_lies_on_the_measured_one(opened):
    bet = curve()
    page = opened(bet, bet.reveal([20, 40, 80, 20_000], "so"))
    handles = page.locator(".handle")
    start, end = (handles.nth(place).bounding_box() for place in (0, 3))
    page.mouse.move(start["x"] + 8, start["y"] + 40)
    page.mouse.down()
    page.mouse.move(end["x"] + 8, end["y"] - 40, steps=2)  # a quick hand: no place between is left out
    page.mouse.up()
    commit(page)
    drawn = guesses(page)[0]
    assert drawn == sorted(drawn) and drawn[0] < 200 and drawn[3] > 500 and guesses(page)[1] == drawn
    assert page.locator(".axis path").count() == 2 and page.locator(".axis circle").count() == 8
    tops = page.locator(".axis circle").evaluate_all("(all) => all.map((one) => one.cy.baseVal.value)")
    assert min(tops) >= 10, "what was measured beyond the axis is in the picture"


def test_who_wont_bet_opens_the_answer_by_a_click(opened):
    bet = number()
    page = opened(bet, bet.reveal(3, "so"))
    page.locator("summary").click()
    assert folds(page) == [True] and "you made no guess" in page.locator(".figure").inner_text()
    assert page.locator(".axis").bounding_box()["width"] > 400


def test_a_link_brings_guesses_along_replaces_none_and_shows_no_token(opened):
    bets = [number(), where()]
    card = Scorecard(*bets, challenge="go")
    page = opened(*bets, card, address=ADDRESS + "?token=secret")
    page.locator(".box").fill("6")
    commit(page)
    page.get_by_role("button", name="Copy a link").press("Enter")
    link = page.locator(".linked a").get_attribute("href")
    assert link.startswith(ADDRESS + "#bets=") and "secret" not in link
    other = opened(*bets, card)
    other.get_by_label("both").check()
    commit(other, 1)
    other.goto(link)  # the same page: only what is behind the # changes
    other.wait_for_function("document.querySelector('.bets').dataset.guess === '[6]'", polling=50)
    assert guesses(other)[:2] == [[6], "both"]
    other.get_by_role("button", name="Forget my guesses").press("Enter")
    other.reload()
    assert guesses(other)[:2] == [None, None]
    broken = opened(*bets, address=ADDRESS + "#bets=%7B%22half")
    assert guesses(broken) == [None, None]


def test_another_tab_hears_of_it(opened):
    bet = number()
    page = opened(bet, bet.reveal(3, "so"))
    second = opened(bet, bet.reveal(3, "so"), context=page.context)
    page.locator(".box").fill("5")
    commit(page)
    second.wait_for_function("document.querySelector('details').open", polling=50)
    assert guesses(second) == [[5], [5]]


def test_a_guess_that_no_longer_fits_is_as_good_as_none(opened):
    page = opened(number())
    for kept in ("[9]", "[1, 2]", '"cpu"', "{", "null", "[null]"):
        page.evaluate("(text) => localStorage.setItem('course.bet.01 six', text)", kept)
        page.evaluate("document.querySelector('.bets').dispatchEvent(new Event('bets'))")
        assert guesses(page) == [None]
    page.evaluate("localStorage.setItem('course.bet.01 six', '[2]')")
    page.reload()
    assert guesses(page) == [[2]]


def test_python_commits_as_the_mouse_does_and_what_was_committed_first_stays(opened):
    bet = number()
    page = opened(bet.commit(2), bet.reveal(3, "so"))
    assert guesses(page) == [[2], [2]] and folds(page) == [True]
    later = opened(number().commit(5), context=page.context)
    assert guesses(later) == [[2]]


def test_where_no_script_runs_a_still_asks_and_the_answer_is_folded(opened):
    bet = number()
    page = opened(bet, bet.reveal(3, "so", shows="the log"), java_script_enabled=False)
    still = page.locator(".still img").first
    assert still.bounding_box()["width"] > 200 and "How many of the six" in still.get_attribute("alt")
    assert not page.get_by_text("the log").is_visible()
    page.locator("summary").click()
    assert page.get_by_text("the log").is_visible() and "It was: 3 ops" in page.locator(".still img").nth(
        1
    ).get_attribute("alt")


def test_the_page_and_python_say_numbers_alike(opened):
    chance = random.Random(8)
    values = [chance.choice((-1, 1)) * 10 ** chance.uniform(-5, 9) for _ in range(500)]
    values += [0, 7, 98_304, 0.5, 99.95, 99.96, 100.5, 101.5, 1e-5, 2.5e7]
    page = opened(number())
    told = page.evaluate(
        """async ([text, values]) => {
            const { said } = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
            return values.map(said);
        }""",
        [text_of("course.widgets.bets", "kept.js") + "\nexport { said };", values],
    )
    assert told == [in_digits(value) for value in values]
