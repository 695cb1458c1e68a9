"""An exhibit's files come from another output of the page; one that is alone shows its still, and says so."""

import nbformat
import pytest

from course.progress_line import STATIC_TWINS
from course.widgets import RequestDots, SliceMean
from course.widgets.exhibits.page_files import with_one_copy
from tests.browser.look.notebook_page import CHAPTERS

pytestmark = pytest.mark.browser


@pytest.fixture
def pages(monkeypatch):
    """Outputs of two exhibits as a notebook has them: the second takes from the first what both need."""
    monkeypatch.setenv(STATIC_TWINS, "1")
    carried = set()
    return [with_one_copy(one._repr_mimebundle_()["text/html"], carried) for one in (RequestDots(), SliceMean())]


@pytest.fixture
def page(chromium):
    page, said = chromium.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    page.close()
    assert said == []


def add(page, html):
    """Put an output into the page as JupyterLab does: its scripts are made anew, or they would not run."""
    page.evaluate(
        """(html) => {
            const cell = document.body.appendChild(document.createElement("section"));
            cell.innerHTML = html;
            for (const old of cell.querySelectorAll("script")) {
                const one = document.createElement("script");
                for (const { name, value } of old.attributes) one.setAttribute(name, value);
                one.textContent = old.textContent;
                old.replaceWith(one);
            }
        }""",
        html,
    )


def test_an_exhibit_alone_shows_its_still_and_says_so_until_its_files_come(page, pages):
    page.set_content("<!doctype html><body></body>")
    add(page, pages[1])
    page.locator(".alone:visible").wait_for()
    assert page.locator(".still img").first.is_visible() and page.locator(".stage input").count() == 0
    add(page, pages[0])
    page.locator(".exhibit[data-ready] input.cut").wait_for()
    page.locator(".exhibit[data-ready] input.rate").wait_for()
    assert page.locator(".alone:visible").count() == 0 == page.locator(".still:visible").count()
    page.locator("input.cut").press("ArrowLeft")
    add(page, pages[1])  # copied: its files have been in the page once
    page.locator(".exhibit[data-ready] input.cut").nth(1).wait_for()


def test_two_versions_of_a_file_are_two_files(page, pages):
    page.set_content("<!doctype html><body></body>")
    add(page, pages[0].replace("scales.js#", "scales.js#f").replace("controls.js#", "controls.js#f"))
    page.locator(".exhibit[data-ready] input.rate").wait_for()
    add(page, pages[1])
    page.locator(".alone:visible").wait_for()
    assert page.locator(".exhibit[data-ready]").count() == 1


@pytest.mark.long
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_exhibit_of_a_chapters_page_is_drawn(page, chapter):
    notebook = nbformat.read(chapter, as_version=4)
    text = "".join(
        output.data.get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "data" in output
    )
    page.set_content(f"<!doctype html><body>{text}</body>")
    page.wait_for_function("() => !document.querySelector('.exhibit:not([data-ready])')", polling=100)
    assert page.locator(".exhibit").count() > 5 and page.locator(".stage:empty").count() == 0
