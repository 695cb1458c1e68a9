"""Exhibits of a training in Chromium: the store is Python's, keys and deaths move it, old results are dimmed."""

import json

import numpy
import pytest

from course.scale.parameter_store import parameter_store
from course.training.driver.rehearsal import RehearsalRecord
from course.training.records import RECORD, Event
from course.widgets import ParameterStore
from tests.browser.exhibit_page import asked, evaluated, kernel, says, shown, why
from tests.course.widgets.canned_labs import B, C, Canned, InTurns, record

pytestmark = [pytest.mark.browser, pytest.mark.long]
TIMES = {"message": 40_000, "update": 5_000, "horizon": 6_000_000}
RUNS = [  # mode, paces (microseconds), faults, seed
    ("async", [200_000, 200_000, 600_000], [], 0),
    ("sync", [200_000, 200_000, 600_000], [], 3),
    ("async", [50_000], [], 2**31 - 1),
    ("sync", [50_000, 75_000, 1_200_000, 60_000], [(900_000, "kill", 2), (2_000_000, "revive", 2)], 5),
    ("sync", [100_000, 100_000], [(1_000_000, "kill", 0), (1_000_001, "revive", 0), (3_000_000, "kill", 1)], 7),
    ("async", [100_000, 300_000], [(500_000, "kill", 0), (500_000, "revive", 0), (700_000, "kill", 0)], 8),
    ("sync", [300_000, 100_000], [(0, "kill", 0), (0, "kill", 1)], 1),
    ("async", [7, 5_000_000, 123_457], [(1_234_567, "kill", 2), (2_345_678, "revive", 2)], 11),
]


def test_the_page_and_python_simulate_the_same_store(opened):
    page = opened(ParameterStore())
    run = """(module, [mode, paces, faults, seed, times, now]) => {
        const run = module.storeRun(mode, paces, faults, seed, times);
        const late = paces.map((_, worker) => module.lateness(run, worker));
        return [run.gradients, module.counts(run), module.counts(run, now), late];
    }"""
    asked = [[mode, paces, faults, seed, TIMES, 2_500_000] for mode, paces, faults, seed in RUNS]
    found = evaluated(page, ["chance.js", "store_run.js"], run, asked)
    for (mode, paces, faults, seed), (gradients, whole, half, late) in zip(RUNS, found, strict=True):
        expected = parameter_store(mode, paces, faults, seed)
        assert [tuple(one) for one in gradients] == list(expected.gradients)
        for said, counts in ((whole, expected.counts()), (half, expected.counts(2_500_000))):
            assert said == counts._asdict() | {"waited": list(counts.waited)}
        assert late == [expected.lateness(worker) for worker in range(len(paces))]


def told(exhibit):
    found = exhibit.result.counts()
    return found._asdict() | {"waited": list(found.waited), "rows": len(exhibit.result.gradients)}


def test_keys_buttons_and_the_scrubber_move_the_store(opened):
    page = opened(ParameterStore())
    assert shown(page) == told(ParameterStore())
    page.locator("select.mode").select_option("sync")
    page.locator(".sliders .c").press("ArrowRight")
    assert shown(page) == told(ParameterStore(mode="sync", c=800))
    assert "Every update waits for the slowest" in page.locator(".sentence").inner_text()
    page.locator(".moment").press("End")
    page.locator(".moment").press("Home")
    assert page.locator(".sofar").inner_text().startswith("After 0.0 ms: 0 updates")
    page.get_by_role("button", name="Next event").press("Enter")
    assert "version 0" in page.locator(".rail svg").get_attribute("aria-label")
    page.get_by_role("button", name="Kill C").press("Enter")
    moment = float(page.locator(".moment").input_value()) / 1000
    assert shown(page) == told(ParameterStore(mode="sync", c=800, faults=[[moment, "kill", 2]]))
    assert "C is killed" in page.locator(".rail svg").get_attribute("aria-label")
    assert page.get_by_role("button", name="Revive C").is_visible()
    nobody = page.get_by_role("button", name="Nobody dies")
    assert why(page, nobody) is None
    nobody.press("Enter")
    assert shown(page) == told(ParameterStore(mode="sync", c=800))
    assert why(page, nobody) == "Nobody dies: nobody was killed."


def test_a_recorded_run_replays_and_the_simulated_one_lies_beside_it(opened):
    rows = [(at + 1, at % 2, max(0, at - 1), 1.0, 0.01 * at + 0.009, 0.01 * at + 0.01) for at in range(50)]
    page = opened(ParameterStore({"two workers": numpy.array(rows, RECORD)}))
    assert shown(page)["updates"] == 50 and not page.locator("select.mode").is_visible()
    assert "recorded" in page.locator(".figure").inner_text() and page.locator(".rail .letter").count() == 2
    page.locator("select.run").select_option("simulated")
    assert shown(page) == told(ParameterStore()) and page.get_by_role("button", name="Kill A").is_visible()


def test_a_line_that_was_found_is_dimmed_while_another_learning_rate_trains(opened):
    lab = InTurns(steps=600).wait()
    page = opened(lab)
    kernel(page)
    says(page, pong=True, settings=lab.state(), answer=lab.answer(lab.result))
    assert "the line is found" in page.locator(".stage .figure").inner_text()
    page.locator(".sliders .learning_rate").press("ArrowRight")
    asked = page.evaluate("window.asked").pop()["settings"]
    assert asked["learning_rate"] > lab.learning_rate
    says(page, number=1, settings=asked, busy=0.3)
    assert "old" in page.locator(".stage").get_attribute("class")
    faint = "e => getComputedStyle(e).opacity"
    assert all(float(page.locator(f".stage {part}").evaluate(faint)) < 0.5 for part in (".figure", ".picture"))
    assert page.locator(".who").inner_text().startswith("Shown: learning rate 0.02. The kernel is at work")
    other = InTurns(**asked).wait()
    says(page, number=1, settings=asked, answer=other.answer(other.result))
    assert "old" not in page.locator(".stage").get_attribute("class")
    assert json.loads(page.locator(".stage").get_attribute("data-shown")) == asked
    page.evaluate("window.gone()")  # as when it is restarted
    page.locator(".sliders .learning_rate").press("ArrowRight")
    assert "No answer to the new setting is stored: run the notebook for it." in page.locator(".who").inner_text()
    page.locator(".sliders .learning_rate").press("ArrowLeft")
    assert "old" not in page.locator(".stage").get_attribute("class")


def test_each_moment_of_a_failure_lab_says_who_is_dead_who_waits_and_who_goes_on(opened):
    page = opened(Canned(seconds=9).wait())
    says_now = page.locator(".stage .says")
    assert says_now.inner_text() == "Parameter server was killed: 1.7 s without an update"
    page.locator(".moment").press("Home")
    assert says_now.inner_text() == "Everybody works"
    page.get_by_role("button", name="Next event").press("Enter")
    assert says_now.inner_text() == "B is dead; A and C go on"
    page.get_by_role("button", name="5.00 s: ps 0 killed").press("Enter")
    assert says_now.inner_text() == "The parameter server is dead; A, B and C wait"
    assert "At 5.00 s: version 94" in page.locator(".sentence").inner_text()
    assert page.locator(".faults").get_attribute("aria-label").startswith("The parameter server is dead; A, B and C")
    told = page.locator(".story li button").all_inner_texts()
    assert [words.split(": ")[1] for words in told] == [
        "worker 1 killed", "worker 1 lost", "worker 1 joined", "ps 0 killed", "ps 0 lost", "restored from step 75",
    ]  # fmt: skip
    assert "later" not in page.locator(".story li").nth(3).get_attribute("class")
    assert page.locator(".story li").nth(4).get_attribute("class") == "later"
    box = page.locator(".faults").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 30, box["y"] + 60)
    assert says_now.inner_text() == "Everybody works" and float(page.locator(".moment").input_value()) > 8


class Untold(Canned):
    """A lab whose page has no answer yet, as while its first training runs."""

    def stored(self):
        """Store nothing."""
        return []


def test_a_failure_labs_scrubber_and_picture_may_be_touched_before_its_first_training_has_ended(opened):
    page = opened(Untold(seconds=9).wait())
    for key in ("ArrowRight", "ArrowLeft", "End"):
        page.locator(".moment").press(key)  # `opened` fails on an error in the console
    for name in ("Play", "Next event", "Previous event"):
        page.get_by_role("button", name=name, exact=True).press("Enter")
    assert page.locator(".who").inner_text().endswith("There is none to these settings: run the notebook.")


def test_a_failure_labs_buttons_strike_what_they_name_and_the_headline_is_of_what_has_happened(opened):
    lab = Canned(seconds=9).wait()
    lab.patience = 600  # seconds until the page says that a press is not heard
    page = opened(lab)
    kill, train = (page.get_by_role("button", name=name) for name in ("✕ Kill B", "Train again"))
    kill.press("Enter")
    assert why(page, kill) == why(page, train)
    assert "this needs a kernel, and none is connected. Run the notebook." in why(page, train)
    kernel(page)
    says(page, pong=True, settings=lab.state(), answer=lab.answer(lab.result))
    kill.press("Enter")
    assert "nothing trains now. Press Train again" in why(page, kill) and asked(page) == [{"ping": 1}]
    train.press("Enter")
    assert asked(page)[1:] == [{"do": "refresh", "with": []}]
    at_work = {"settings": lab.state(), "busy": 0.1}
    says(page, **at_work, said="", answer=lab.answer(RehearsalRecord()))
    assert why(page, train) == "Train again: it trains. Stop ends it." and focused(page) == "Train again"
    words = page.locator(".stage .says")
    assert words.inner_text() == "The processes start: no update yet" and not page.locator(".said").is_visible()
    says(page, **at_work, answer=lab.answer(record(1.9, ""), 1.9))
    assert words.inner_text() == "Everybody works" and why(page, kill) is None
    kill.press("Enter")
    assert asked(page)[-1] == {"do": "press", "with": ["kill", B]} and "pressed" in why(page, kill)
    kill.press("Enter")
    assert len(asked(page)) == 3, "a second press waits for what came of the first"
    says(page, **at_work, answer=lab.answer(record(2.5, ""), 2.5))
    assert words.inner_text() == "B is dead; A and C go on"
    assert why(page, kill) == "✕ Kill B, Freeze B, Slow B: its process is dead, until there is another."
    says(page, **at_work, answer=lab.answer(record(4.5, ""), 4.5))
    assert words.inner_text() == "Everybody works" and why(page, kill) is None
    assert float(page.locator(".moment").input_value()) == 4.5, "who looks at the end stays at it"
    page.locator(".moment").press("Home")
    says(page, **at_work, answer=lab.answer(record(6.0, ""), 6.0))
    assert float(page.locator(".moment").input_value()) == 0, "who looks back stays there"
    page.get_by_role("button", name="Stop").press("Enter")
    says(page, settings=lab.state(), answer=lab.answer(record(6.0, "by its button")))
    assert focused(page) == "Train again", "Stop is gone, and Tab goes on from here"
    page.evaluate("window.gone()")  # as when it is restarted
    assert "needs a kernel" in why(page, kill) == why(page, train)


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def test_a_frozen_worker_may_be_thawed_and_a_slow_one_made_quick(opened):
    lab = Canned(seconds=9).wait()
    page = opened(lab)
    kernel(page)
    seen = record(1.9, "")
    seen.events += [Event(1.0, "slowed", C, 20), Event(1.2, "frozen", B, 24)]
    says(page, settings=lab.state(), busy=0.1, answer=lab.answer(seen, 1.9))
    assert page.locator(".stage .says").inner_text() == "B is frozen; C is slow; A and C go on"
    for name, action, task in (("Thaw B", "thaw", B), ("Quicken C", "quick", C)):
        page.get_by_role("button", name=name).press("Enter")
        assert asked(page)[-1] == {"do": "press", "with": [action, task]}
