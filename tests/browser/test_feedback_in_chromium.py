"""A feedback page, and the notebook for formgrader in Chromium: nothing runs, and all can be read."""

import pytest

from grader.reports.autograded import safe_notebook
from grader.reports.feedback import feedback_page
from tests.grader.reports.test_feedback import marks_of
from tests.helpers.hostile import TEXTS, hostile_notebook
from tests.helpers.small_lab import write_small_lab

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the paths of the two pages made of a hostile submission."""
    from nbconvert import HTMLExporter

    folder = tmp_path_factory.mktemp("pages")
    lab = write_small_lab(folder)
    marks = marks_of(lab, hostile_notebook(lab), total={"score": 0.0, "reason": "".join(TEXTS[:5]) + "x" * 500})
    (folder / "feedback.html").write_text(feedback_page(marks, f"Eve {TEXTS[1]}"), encoding="utf-8")
    page, _ = HTMLExporter(template_name="classic").from_notebook_node(safe_notebook(lab, marks))
    (folder / "formgrader.html").write_text(page, encoding="utf-8")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_can_be_read_on_a_phone_and_nothing_on_it_runs(chromium, pages, width, scheme):
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto((pages / "feedback.html").as_uri())
    page.click("summary") if page.query_selector("summary") else None
    page.click("text=double")
    assert page.evaluate("window.OWNED") is None and said == []
    assert [url for url in asked if not url.startswith("data:image/png")] == [(pages / "feedback.html").as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert (
        page.evaluate("document.querySelectorAll('script, svg, iframe, [onerror], [onload], [ontoggle]').length") == 0
    )
    # its own style is in force: the policy lets it through
    assert page.evaluate("getComputedStyle(document.querySelector('article')).borderLeftStyle") == "solid"
    assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth == 300)")
    page.close()


def test_what_formgrader_shows_runs_nothing_either(chromium, pages):
    page = chromium.new_page()
    # the only others that may be asked are those that nbconvert's own page asks: mathematics and its like
    page.route("https://**", lambda route: route.abort())
    foreign = []
    page.on("request", lambda request: foreign.append(request.url))
    page.goto((pages / "formgrader.html").as_uri(), wait_until="domcontentloaded")
    page.wait_for_timeout(500)
    assert page.evaluate("window.OWNED") is None and not any("evil" in url for url in foreign)
    inside = "#notebook-container"
    alive = f"{inside} script, {inside} svg, {inside} iframe, {inside} details, {inside} a[href^=javascript]"
    assert page.evaluate("(query) => document.querySelectorAll(query).length", alive) == 0
    page.close()
