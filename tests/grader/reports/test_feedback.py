"""Feedback: each state in words, the counterexample, the cells as text; nothing on the page is alive."""

import base64
import hashlib
import re
from dataclasses import asdict
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.marking.mark import STATES, Marks
from grader.marking.why_this_mark import ExerciseMark
from grader.reports.feedback import feedback_page
from grader.reports.gradebook import Manual
from grader.submission.rebuild import rebuild
from tests.helpers.hostile import TEXTS, hostile_notebook, png
from tests.helpers.small_lab import cells_of, markdown, notebook, write_small_lab

#: What the page is made of. Everything else would be somebody else's.
TAGS = set(
    "html head meta title style body header main section article h1 h2 p b span a pre img div details summary".split()
)
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "src", "alt", "tabindex"),
    *("aria-label", "aria-hidden"),
}


class Parts(HTMLParser):
    """The page as a browser would take it apart."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text, self.inside = [], [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        self.inside = tag

    def handle_data(self, data):
        if self.inside != "style":
            self.text.append(data)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return write_small_lab(tmp_path_factory.mktemp("labs"))


def marks_of(lab, data, **changes):
    """Return marks for the submission's cells, not run: full marks but for `changes`, exercise -> fields."""
    made = [
        ExerciseMark(e.name, **{"state": "graded", "score": e.points, "max_score": e.points, **changes.get(e.name, {})})
        for e in lab.exercises
    ]
    return Marks(lab.name, tuple(made), tuple(asdict(cell) for cell in rebuild(lab, data).cells), log="")


def assert_nothing_is_alive(page):
    parts = Parts(page)
    assert set(parts.tags) <= TAGS
    assert {name for _, name, _ in parts.attributes} <= ATTRIBUTES
    for tag, name, value in parts.attributes:
        if name == "href":
            assert re.fullmatch(r"#[a-z0-9_]+", value), value
        if name == "src":
            assert tag == "img" and re.fullmatch(r"data:image/png;base64,[A-Za-z0-9+/=]+", value), value[:80]
    return parts


def test_nothing_of_a_hostile_submission_comes_alive(lab):
    lost = {"state": "graded", "score": 0.0, "reason": TEXTS[0] + TEXTS[4]}
    marks = marks_of(lab, hostile_notebook(lab), total=lost)
    remarks = {"words": Manual(2.0, TEXTS[1])}
    page = feedback_page(marks, f"Eve {TEXTS[0]}", remarks, [TEXTS[2]])
    shown = "".join(assert_nothing_is_alive(page).text)
    # it is all there, as text
    for words in (TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[4], TEXTS[5], TEXTS[7]):
        assert words in shown
    assert "\u202e" not in page and "\\u202e" in shown and "\x00" not in page and "\x1b" not in page


@settings(max_examples=60)
@given(st.text(), st.text(), st.text(), st.text())
def test_whatever_is_written_in_names_reasons_cells_and_logs_stays_text(student, reason, cell, log):
    mark = ExerciseMark("total", "crashed", 0.0, 2.0, f"{reason}<b>")
    shown = {"type": "code", "text": f"{cell}</pre><i>", "exercise": "total", "given": False, "pictures": ()}
    assert_nothing_is_alive(feedback_page(Marks("small", (mark,), (shown,), f"{log}<u>"), f"{student}<s>"))


def test_the_page_forbids_scripts_and_allows_its_own_style_only(lab):
    page = feedback_page(marks_of(lab, notebook(cells_of(lab))), "ada")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert "default-src 'none'" in policy and f"style-src 'sha256-{digest}'" in policy
    assert "script" not in policy and "unsafe" not in policy and "http" not in policy
    assert page.index("Content-Security-Policy") < page.index("<style>")


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_said_in_words(lab, state):
    lost = {"state": state, "score": 0.0, "reason": "double([1]) gave [1]; expected [2]."}
    page = feedback_page(marks_of(lab, notebook(cells_of(lab)), double=lost), "ada")
    words = {
        "graded": "not right",
        "missing": "not answered",
        "crashed": "did not run",
        "timed_out": "did not come to an end",
        "unreadable": "could not be read",
        "refused": "was not read",
        "unplaced": "not clear which notebook is yours",
        "grader_failed": "our side failed",
    }
    assert words[state] in page and "double([1]) gave [1]; expected [2]." in page


def test_a_mark_that_our_side_lost_is_no_zero(lab):
    lost = {"state": "grader_failed", "score": 0.0}
    page = feedback_page(marks_of(lab, notebook(cells_of(lab)), double=lost), "ada")
    assert "– / 3" in page and "1 not marked yet" in page


def test_partial_credit_says_so_and_full_credit_needs_no_reason(lab):
    told = {"total": {"score": 1.0, "reason": "total([5]) gave 4; expected 5."}, "double": {"reason": "4 questions"}}
    page = feedback_page(marks_of(lab, notebook(cells_of(lab)), **told), "ada")
    assert "partly right" in page and "gave 4; expected 5" in page and "4 questions" not in page
    assert "<b>9</b> of 10 points" in page


def test_a_persons_score_and_comment_take_the_place_of_the_automatic_ones(lab):
    cells = notebook(cells_of(lab))
    waiting = {"words": {"score": 0.0, "reason": "A person marks this one.", "manual": True}}
    page = feedback_page(marks_of(lab, cells, **waiting), "ada")
    assert "a person marks this one" in page and "1 not marked yet" in page
    page = feedback_page(marks_of(lab, cells, **waiting), "ada", {"words": Manual(3.5, "Well said.\nShort.")})
    assert "3.5 / 4" in page and "Well said.\nShort." in page and "not marked yet" not in page


def test_own_cells_are_shown_and_the_labs_are_not(lab):
    cells = [*cells_of(lab), markdown("My remark"), {**markdown(""), "cell_type": "code", "outputs": []}]
    page = feedback_page(marks_of(lab, notebook(cells)), "ada")
    assert "return 2 * np.asarray(values)" in page and "My remark" in page
    assert "import numpy" not in page and "check(double)" not in page and "OFFSET = 3" not in page


def test_nothing_of_the_solution_is_on_the_page(lab):
    page = feedback_page(marks_of(lab, notebook(cells_of(lab, solved=False)), double={"score": 0.0}), "ada")
    assert "2 * np.asarray" not in page and "return ...  # your code" in page


def test_pictures_are_png_made_anew_and_what_is_none_is_said(lab):
    cells = cells_of(lab)
    cells[1]["outputs"] = [{"output_type": "display_data", "data": {"image/png": png()}, "metadata": {}}]
    cells[3]["outputs"] = [{"output_type": "display_data", "data": {"image/png": "no"}, "metadata": {}}]
    page = feedback_page(marks_of(lab, notebook(cells)), "ada")
    assert page.count("<img") == 1 and "picture 1 of cell 4 is not shown" in page


def test_a_page_does_not_grow_with_what_was_written(lab):
    much = [markdown("x" * 100_000) for _ in range(40)]
    marks = marks_of(lab, notebook([*cells_of(lab), *much]))
    marks = Marks(marks.lab, marks.exercises, marks.cells, "y" * 1_000_000)
    page = feedback_page(marks, "n" * 10_000)
    assert len(page) < 600_000 and "the page is full" in page


def test_a_submission_that_could_not_be_read_gets_a_page(lab):
    marks = Marks(
        "small", tuple(ExerciseMark(e.name, "unreadable", 0.0, e.points, "It is empty.") for e in lab.exercises)
    )
    page = feedback_page(marks, "ada")
    assert "It is empty." in page and "as handed in" not in page
