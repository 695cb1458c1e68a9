"""What bad input gets in the page: it says what is wrong, keeps its last good state, and recovers with the cause."""

import json
import os
import signal
import time
from contextlib import closing, suppress

import psutil
import pytest

from course.widgets import PiDarts, RooflineExplorer, SliceMean
from course.widgets.exhibits.exhibit import EXHIBIT_PATIENCE
from tests.browser.exhibit_page import asked, kernel, says
from tests.slow.monkey.in_page import Notebook, noted

pytestmark = [pytest.mark.browser, pytest.mark.long]
NONE = ["-1", "2147483648", "1e999", "3.7", "-", ""]
LAB = "from course.widgets import RegressionLab\nRegressionLab(steps=100).wait()"
LATER = 1000 * EXHIBIT_PATIENCE + 2000  # milliseconds: longer than the page waits for a word


def with_a_clock(page):
    """Return the page, whose clock stands still until `page.clock.run_for` moves it."""
    page.clock.install(time=0)
    page.clock.pause_at(10**9)
    return page


def setting(page, name):
    return json.loads(page.locator(".stage").get_attribute("data-shown"))[name]


def test_a_number_that_is_none_is_said_in_its_row_and_the_darts_stay(opened):
    page = opened(PiDarts(samples=2000, seed=3).wait())
    box, says_so = page.locator("input.seed"), page.locator("label:has(input.seed) output")
    figure = page.locator(".stage .figure").inner_text()
    for text in NONE:
        box.click(click_count=3)
        page.keyboard.press("Delete")
        page.keyboard.insert_text(text)
        assert says_so.inner_text() == "give 0 to 2147483647", text
        assert setting(page, "seed") == 3 and page.locator(".stage .figure").inner_text() == figure
    box.fill("3")
    assert says_so.inner_text() == "" and page.locator(".stage .figure").inner_text() == figure


def test_a_press_that_a_busy_kernel_has_not_heard_is_said_to_wait_and_no_longer_once_it_is_heard(opened):
    page, made = with_a_clock(opened(RooflineExplorer().wait())), RooflineExplorer().wait()
    kernel(page)
    says(page, pong=True, settings=made.state(), answer=made.answer(made.result))
    page.get_by_role("button", name="Measure").first.press("Enter")
    assert asked(page)[-1] == {"do": "measure", "with": []} and not page.locator(".said").is_visible()
    page.clock.run_for(LATER)
    assert "has not heard it yet" in page.locator(".said").inner_text()
    assert "Interrupt" in page.locator(".said").inner_text()
    says(page, heard="measure")
    assert not page.locator(".said").is_visible()
    page.get_by_role("button", name="Measure").first.press("Enter")
    says(page, heard="measure")
    page.clock.run_for(LATER)
    assert not page.locator(".said").is_visible()
    made.close()


def test_a_lab_whose_processes_were_killed_trains_on_new_ones_and_a_closed_one_says_so_and_keeps_its_line(chromium):
    notebook = Notebook(chromium.new_context(), {"lab": LAB})
    page = notebook.page

    def moved(key):
        page.locator(".sliders .learning_rate").press(key)
        deadline = time.monotonic() + 240
        while True:  # a page whose line is new asks who is there first
            notebook.serve()
            notebook.exhibits["lab"]._thread.join(240)
            notebook.serve()
            if page.locator(".who").inner_text() == "The kernel answers." or page.locator(".who.wrong").count():
                return
            assert time.monotonic() < deadline, page.locator(".who").inner_text()

    with noted(notebook.wrong), closing(notebook):
        notebook.run_all()
        lab = notebook.exhibits["lab"]
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # one may end meanwhile: of what is left of it nothing can be read
                if "forkserver" in " ".join(process.cmdline()):
                    os.kill(process.pid, signal.SIGKILL)
        moved("ArrowRight")
        good = setting(page, "learning_rate")
        assert good == lab.learning_rate > 0.02 and page.locator(".who").inner_text() == "The kernel answers."
        figure = page.locator(".stage .figure").inner_text()
        lab.cluster().close()
        moved("ArrowRight")
        said = page.locator(".who.wrong").inner_text()
        assert "closed" in said and "new one" in said
        assert setting(page, "learning_rate") == good and page.locator(".stage .figure").inner_text() == figure
        notebook.run_all()  # the cell once more
        moved("ArrowRight")
        assert page.locator(".who").inner_text() == "The kernel answers."
    assert notebook.wrong == []
    page.context.close()


def test_a_line_that_has_closed_unsaid_leaves_the_exhibit_with_what_is_stored(opened):
    page, made = with_a_clock(opened(SliceMean(cut=16))), SliceMean(cut=16)
    kernel(page)
    says(page, pong=True, settings=made.state(), answer=made.answer(made.result))
    page.evaluate(
        "() => { model.send = () => { throw new Error('Cannot send'); }; }"
    )  # as JupyterLab's does in a restart
    page.locator("input.cut").press("ArrowLeft")
    assert setting(page, "cut") == 15 and "no kernel" in page.locator(".who").inner_text()
    page.clock.run_for(LATER)
    assert "no kernel" in page.locator(".who").inner_text()


def test_an_output_of_another_version_beside_it_does_not_disturb_the_line(opened):
    exhibit, older = SliceMean(cut=16), SliceMean(cut=4)
    stored = older._repr_mimebundle_()["text/html"]
    globals_of = "{ models: new Map(), news: new EventTarget() }"
    assert globals_of in stored
    first = f"<script>globalThis.courseLines = {globals_of}; globalThis.courseBets = {{}};</script>"
    page = opened(exhibit, after=first + stored)
    older.close()
    for place in range(2):
        stage = page.locator(".stage").nth(place)
        stage.locator("input.cut").press("ArrowRight")
        assert "no kernel" in stage.locator(".who").inner_text()
    kernel(page)  # the first one's
    made = SliceMean(cut=15)
    says(page, pong=True, settings=made.state(), answer=made.answer(made.result))
    assert page.locator(".who").first.inner_text() == "The kernel answers."
    assert "no kernel" in page.locator(".who").nth(1).inner_text()
