"""What the outputs of every chapter's page are to axe-core, as nbconvert makes it of the committed notebook."""

import re

import nbformat
import pytest

from tests.browser.look.accessibility import OUTPUTS, findings, measured
from tests.browser.look.notebook_page import CHAPTERS
from tests.browser.look.sheet import GROUNDS, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_axe_finds_nothing_serious_in_a_chapters_outputs(rendered, chapter):
    page = rendered(nbformat.read(chapter, as_version=4))
    assert page.locator(OUTPUTS).count() > 5
    assert findings(page) == []
    assert measured(page, "paleWords", OUTPUTS, GROUNDS["light"]) == []
    assert [words for words in measured(page, "alternatives", OUTPUTS) if not says_a_finding(words)] == []


def says_a_finding(words):
    """Tell whether a text alternative says more than what is on the axes: a number, a question, an answer in words."""
    told = words.startswith(("Predict: ", "It was: ")) or words == "The seven roles, each in its colour with its sign"
    return told or re.search(r"\d", words) is not None and len(words) > 12


def test_an_axis_is_no_finding():
    assert not any(map(says_a_finding, ("", "seconds by ranks", "two bars: CPU, GPU with its copies", "n = 3")))
    assert says_a_finding("With 1,000 ranks the ring takes 200 ms.")


def test_a_picture_without_words_and_a_control_without_a_name_are_found_in_an_output(rendered):
    html = (
        "<b role='img'></b><input type='range'><svg width='90' height='20'><text y='15' fill='#999'>pale</text></svg>"
    )
    output = nbformat.v4.new_output("display_data", {"text/html": html})
    cell = nbformat.v4.new_code_cell("show()", outputs=[output])
    page = rendered(nbformat.v4.new_notebook(cells=[cell]))
    assert {line.partition(":")[0] for line in findings(page)} == {"role-img-alt", "label"}
    assert len(measured(page, "paleWords", OUTPUTS, GROUNDS["light"])) == 1


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_on_a_phone_a_chapter_is_not_wider_than_the_page_its_words_are_legible_and_its_controls_fit_a_finger(
    phone, chapter
):
    page = phone(nbformat.read(chapter, as_version=4))
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    assert measured(page, "smallWords", OUTPUTS, 9.9) == []  # 10, rounded
    assert measured(page, "smallTargets", OUTPUTS, 24) == []


def test_small_words_and_small_targets_are_found_on_a_phone(phone):
    html = "<p style='font-size:9px'>small</p><button style='height:12px'>B</button><input type='range' aria-label='r'>"
    output = nbformat.v4.new_output("display_data", {"text/html": html})
    page = phone(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("show()", outputs=[output])]))
    assert len(measured(page, "smallWords", OUTPUTS, 10)) == 1 and len(measured(page, "smallTargets", OUTPUTS, 24)) == 2
