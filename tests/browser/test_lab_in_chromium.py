"""JupyterLab in a real browser: chapters run from the menu, widgets answer, no error shows, no other host is asked."""

import re
from urllib.error import HTTPError

import pytest

from tests.browser.lab_page import (
    failures,
    lab_page,
    need_chromium,
    running_chromium,
    running_lab,
    sessions,
    shut_kernels,
    write_notebook,
)
from tests.browser.look.accessibility import findings

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def lab_address(tmp_path_factory):
    need_chromium()
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
    lines = [line for text in shown.all_inner_texts() for line in text.splitlines()]
    lines = [line for line in lines if not line.startswith("compiling ")]  # kernels, once, where that takes seconds
    assert lines == lab.errors == lab.foreign == []


@pytest.mark.long
def test_chapter_03_runs_and_the_life_players_share_their_boards_with_the_kernel(lab):
    run_chapter(lab, "03_game_of_life")
    stages = "[...document.querySelectorAll('.stage:has(canvas.board)')]"
    lab.until(f"{stages}.length === 3 && {stages}.every((one) => one.dataset.live === 'kernel')")
    told = f"{stages}.map((one) => JSON.parse(one.dataset.board))"
    assert lab.page.evaluate(told)[1] == {"generation": 0, "population": 5, "height": 64, "width": 96}  # yours, still
    first, five, large = (lab.page.locator(".stage:has(canvas.board)").nth(place) for place in range(3))
    five.scroll_into_view_if_needed()
    five.locator("button.step").click()
    assert lab.page.evaluate(told)[1] == {"generation": 1, "population": 6, "height": 64, "width": 96}
    five.locator("canvas.board").click(position={"x": 3, "y": 3})  # the corner: a dead cell comes alive
    assert lab.page.evaluate(told)[1]["population"] == 7
    five.locator("canvas.board").press("p")
    lab.until(f"{told}[1].generation > 40")
    five.locator(".sentence:text('in the kernel')").wait_for()
    large.scroll_into_view_if_needed()
    large.locator("select.engine_name").select_option("packed")
    large.locator("button.play").press("Enter")
    large.locator("canvas.board").scroll_into_view_if_needed()  # out of sight it waits
    lab.until(f"{told}[2].generation > 100")
    large.locator(".sentence:text('packed, in the kernel,')").wait_for()
    assert_nothing_went_wrong(lab)


def test_chapter_05_runs_a_slider_changes_the_darts_and_axe_finds_nothing_serious_in_the_outputs(lab):
    run_chapter(lab, "05_distributed_pi")
    stage = "document.querySelector('.exhibit:has(.samples) .stage')"
    shown = f"JSON.parse({stage}.dataset.shown).samples"
    exhibit = lab.page.locator(".exhibit:has(.samples)").first
    exhibit.scroll_into_view_if_needed()
    lab.until(f"{stage}.dataset.live === 'kernel'")
    before = lab.page.evaluate(shown)
    exhibit.locator("input.samples").press("ArrowRight")
    lab.until(f"{shown} > {before}")
    assert findings(lab.page) == []
    assert_nothing_went_wrong(lab)


@pytest.mark.long
def test_printed_words_are_not_broken_and_the_map_opens_a_chapter(lab, lab_address):
    cells = "from course.widgets import CourseMap\n\nCourseMap()", "print('distributed words ' * 12)"
    write_notebook(lab_address[1], "91_look", *cells)
    lab.open("91_look")
    assert failures(lab.run_all("91_look")) == []
    broken = "[...document.querySelectorAll('.jp-OutputArea-output pre')].map(e => getComputedStyle(e).wordBreak)"
    assert set(lab.page.evaluate(broken)) == {"normal"}
    lab.page.locator(".stations a").nth(1).click()
    lab.until("document.querySelector('.lm-TabBar-tab.jp-mod-current').textContent.includes('01_devices.ipynb')")
    lab.shows("01_devices")  # its kernel is there before the page closes, so that it ends with the others
    assert_nothing_went_wrong(lab)


def test_the_page_needs_the_token(lab_address):
    address = re.sub(r"token=\w+", "token=wrong", lab_address[0])
    with pytest.raises(HTTPError) as refused:
        sessions(address)
    with refused.value as answer:
        assert answer.code == 403


@pytest.mark.long
def test_the_failure_lab_is_hit_by_its_buttons_and_shows_it_while_it_runs(lab, lab_address):
    source = "from course.widgets import FailureLab\n\nlab = FailureLab(seconds=120)\nlab"
    write_notebook(lab_address[1], "90_failure_lab", source, "2 + 2")
    lab.open("90_failure_lab")
    notebook = lab.run_all("90_failure_lab")  # the second cell answers while the training runs
    assert failures(notebook) == [] and notebook["cells"][1]["outputs"][0]["data"]["text/plain"] == ["4"]
    said = "document.querySelector('.exhibit').textContent"
    lab.until(
        "document.querySelector('.exhibit .faults .version') !== null && "
        "document.querySelector('.exhibit .says').textContent === 'Everybody works'",
        120,
    )
    lab.page.get_by_role("button", name="✕ Kill B").press("Enter")
    for words in ("worker 1 killed", "worker 1 lost", "worker 1 joined"):
        lab.until(f"{said}.includes('{words}')")
    assert "Nobody has been hit" not in lab.page.locator(".exhibit").text_content()
    lab.page.get_by_role("button", name="✕ Kill ps 0").click()
    for words in ("ps 0 killed", "restored from step"):
        lab.until(f"{said}.includes('{words}')")
    lab.page.get_by_role("button", name="Stop").click()
    lab.until(f"{said}.includes('by its button')")
    lab.page.locator("button[aria-disabled=true]:text-is('✕ Kill B')").wait_for()
    assert_nothing_went_wrong(lab)


SERVED = """
import tempfile, torch
from modelserver import export, local_server
from course.widgets import DigitPad, RequestDots

class Sevens(torch.nn.Module):
    def forward(self, image):
        return image[:, :10] * 0 + torch.nn.functional.one_hot(torch.tensor(7), 10) * 9

digits = torch.zeros(2, 784)
digits[:, 300:320] = 1
folder = tempfile.TemporaryDirectory()
export(Sevens(), digits, f"{folder.name}/models", name="digits", outputs=["scores"])
server = local_server(f"{folder.name}/models", workers=1)
DigitPad(server.url, digits, [1, 1])
"""


@pytest.mark.long
def test_a_drawn_digit_is_answered_by_the_server_and_exhibits_go_on_when_it_and_the_kernel_are_gone(lab, lab_address):
    write_notebook(lab_address[1], "92_exhibits", SERVED, "RequestDots(rate=300)")
    lab.open("92_exhibits")
    assert failures(lab.run_all("92_exhibits")) == []
    told = "JSON.parse(document.querySelector('[data-answer]').dataset.answer)"
    lab.until(f"{told}.best === 7 && !{told}.live")  # the answer stored when the cell ran
    sheet = lab.page.locator(".sheet")
    sheet.scroll_into_view_if_needed()
    corner = sheet.bounding_box()
    for place, (x, y) in enumerate([(50, 60), (160, 60), (90, 190)]):
        lab.page.mouse.move(corner["x"] + x, corner["y"] + y, steps=4)
        if place == 0:
            lab.page.mouse.down()
    lab.page.mouse.up()
    lab.until(f"{told}.live && {told}.best === 7 && {told}.version === 1")
    lab.page.locator(".sliders .rate").press("ArrowRight")
    lab.until("JSON.parse(document.querySelector('[data-result]').dataset.result).came > 3200")
    shut_kernels(lab_address[0])  # and with it the server
    lab.page.locator(".stored button").first.press("Enter")
    lab.until(f"{told}.best === 7 && !{told}.live")
    lab.until("document.querySelector('.who').textContent.includes('Stored answers')")
    lab.page.locator(".sliders .rate").press("ArrowLeft")
    lab.until("JSON.parse(document.querySelector('[data-result]').dataset.result).came < 3200")
    assert lab.foreign == []
