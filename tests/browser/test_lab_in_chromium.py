"""JupyterLab in a real browser: chapters run from the menu, widgets answer, no error shows, no other host is asked."""

import os
import re
from urllib.error import HTTPError

import nbformat
import pytest

from tests.browser.lab_page import (
    failures,
    find_chromium,
    lab_page,
    running_chromium,
    running_lab,
    sessions,
    shut_kernels,
)

HOW_TO_GET_IT = (
    "the browser test needs Chromium: `apt install chromium` on Debian, `sudo snap install chromium` on Ubuntu, "
    "`brew install --cask chromium` on macOS; everything else was tested"
)
pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def lab_address(tmp_path_factory):
    if find_chromium() is None:
        if os.environ.get("COURSE_MUST_HAVE_CHROMIUM"):
            pytest.fail(HOW_TO_GET_IT)
        print(f"\nSKIPPED: {HOW_TO_GET_IT}", flush=True)
        pytest.skip(HOW_TO_GET_IT)
    folder = tmp_path_factory.mktemp("a copy of the course")  # a path with spaces, as readers have
    with running_lab(folder) as address:
        yield address, folder


@pytest.fixture(scope="module")
def context(lab_address):
    """One for all pages: what JupyterLab's page loads is then loaded and compiled once."""
    with running_chromium() as browser:
        yield browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme="light")


@pytest.fixture
def lab(context, lab_address):
    with lab_page(context, *lab_address) as page:
        yield page
    shut_kernels(lab_address[0])  # JupyterLab keeps a notebook's kernel when its page closes


def run_chapter(lab, name):
    lab.open(name)
    notebook = lab.run_all(name)
    assert failures(notebook) == []


def assert_nothing_went_wrong(lab):
    shown = lab.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']")
    assert shown.count() == 0 and lab.errors == [] and lab.foreign == []


def test_chapter_03_runs_and_the_life_player_answers_button_key_and_click(lab):
    run_chapter(lab, "03_game_of_life")
    player = lab.page.locator(".life-player").first
    player.scroll_into_view_if_needed()
    board, generation, population = (
        player.locator("canvas"),
        player.locator(".generation"),
        player.locator(".population"),
    )
    lab.until("document.querySelector('.life-player .generation').textContent != ''")
    before, start = board.evaluate("c => c.toDataURL()"), int(generation.inner_text())
    player.locator("button.step").click()
    lab.until(f"document.querySelector('.life-player .generation').textContent == '{start + 1}'")
    assert board.evaluate("c => c.toDataURL()") != before
    living = int(population.inner_text())
    board.click(position={"x": 3, "y": 3})  # the corner: a dead cell comes alive
    lab.until(f"document.querySelector('.life-player .population').textContent == '{living + 1}'")
    board.press("Space")
    lab.until(f"document.querySelector('.life-player .generation').textContent == '{start + 2}'")
    assert_nothing_went_wrong(lab)


def test_chapter_05_runs_and_a_slider_changes_the_darts(lab):
    run_chapter(lab, "05_distributed_pi")
    widget = lab.page.locator(".jupyter-widgets.widget-vbox, .jupyter-widgets.widget-box").first
    widget.scroll_into_view_if_needed()
    picture, handle = widget.locator(".course svg").last, widget.locator(".noUi-handle, [role=slider]").first
    before = picture.evaluate("e => e.outerHTML")
    handle.focus()
    handle.press("ArrowLeft")
    for _ in range(100):
        lab.page.wait_for_timeout(100)
        if picture.evaluate("e => e.outerHTML") != before:
            break
    assert picture.evaluate("e => e.outerHTML") != before
    assert_nothing_went_wrong(lab)


LOOK = """
import ipywidgets
from course import draw, widgets

shown = [name for name in sorted(widgets.__all__) if name not in ("FailureLab", "LifePlayer", "Explorer")]
makers = [getattr(widgets, name) for name in shown]  # imported before the first of them works in a thread
explorers = [make() for make in makers]
ipywidgets.VBox(explorers)
"""


def test_sliders_begin_at_one_position_and_have_names_and_columns_of_text_stand_left(lab, lab_address):
    cells = [LOOK, "draw.table(['a', 'b'], [('text', 3)], 'alt')", "print('distributed words ' * 12)"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata=kernel)
    nbformat.write(written, lab_address[1] / "notebooks" / "91_look.ipynb")
    lab.open("91_look")
    assert failures(lab.run_all("91_look")) == []
    lab.until("document.querySelectorAll('.widget-slider [role=slider]').length >= 9")
    lab.until("[...document.querySelectorAll('.widget-slider [role=slider]')].every(e => e.ariaLabel)")
    sliders = lab.page.evaluate(
        """() => [...document.querySelectorAll('.widget-slider')].map(e => ({
            name: e.querySelector('[role=slider]').ariaLabel, label: e.querySelector('.widget-label').textContent,
            said: e.querySelector('[role=slider]').ariaValueText, shown: e.querySelector('.widget-readout').textContent,
            left: Math.round(e.querySelector('.slider-container').getBoundingClientRect().left),
            box: [...document.querySelectorAll('.widget-vbox')].indexOf(e.parentElement)}))"""
    )
    assert all(one["name"] == one["label"] and one["said"] == one["shown"] for one in sliders)
    assert "Darts" in {one["name"] for one in sliders}
    starts = {}
    for one in sliders:
        starts.setdefault(one["box"], set()).add(one["left"])
    assert all(len(positions) == 1 for positions in starts.values()), sliders
    aligned = "[...document.querySelectorAll('.course td, .course th')].map(e => getComputedStyle(e).textAlign)"
    assert lab.page.evaluate(aligned)[-4:] == ["left", "right", "left", "right"]
    broken = "[...document.querySelectorAll('.jp-OutputArea-output pre')].map(e => getComputedStyle(e).wordBreak)"
    assert set(lab.page.evaluate(broken)) == {"normal"}
    assert_nothing_went_wrong(lab)


def test_the_page_needs_the_token(lab_address):
    address = re.sub(r"token=\w+", "token=wrong", lab_address[0])
    with pytest.raises(HTTPError) as refused:
        sessions(address)
    with refused.value as answer:
        assert answer.code == 403


def test_the_failure_lab_is_hit_by_its_buttons_and_shows_it_while_it_runs(lab, lab_address):
    source = "from course.widgets import FailureLab\n\nlab = FailureLab(seconds=60)\nlab"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    cells = [nbformat.v4.new_code_cell(source), nbformat.v4.new_code_cell("2 + 2")]
    written = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    nbformat.write(written, lab_address[1] / "notebooks" / "90_failure_lab.ipynb")
    lab.open("90_failure_lab")
    notebook = lab.run_all("90_failure_lab")  # the second cell answers while the training runs
    assert failures(notebook) == [] and notebook["cells"][1]["outputs"][0]["data"]["text/plain"] == ["4"]
    widget = lab.page.locator(".jupyter-widgets.widget-vbox").first
    kill = widget.get_by_role("button", name="Kill worker")
    lab.until("document.querySelector('.widget-vbox svg text') !== null")
    version = "[...document.querySelectorAll('.widget-vbox svg text')].some(e => e.textContent.includes('worker 0'))"
    lab.until(version)  # the first gradients are drawn
    kill.focus()
    lab.page.keyboard.press("Enter")
    for words in ("worker 1 killed", "worker 1 lost", "worker 1 joined"):
        lab.until(f"document.querySelector('.widget-vbox').textContent.includes('{words}')")
    widget.get_by_role("button", name="Kill parameter server").click()
    for words in ("ps 0 killed", "restored from step"):
        lab.until(f"document.querySelector('.widget-vbox').textContent.includes('{words}')")
    if folder := os.environ.get("COURSE_SCREENSHOTS"):
        lab.page.screenshot(path=f"{folder}/failure_lab.png")
    widget.get_by_role("button", name="Stop").click()
    lab.until("document.querySelector('.widget-vbox').textContent.includes('by its button')")
    assert_nothing_went_wrong(lab)
