"""The notebook for formgrader: nbconvert makes no live page of it, whatever was handed in; every cell is there."""

import json
import re
from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.reports.autograded import safe_notebook, verbatim
from grader.submission.pictures import clean_png
from tests.grader.reports.test_feedback import marks_of
from tests.helpers.hostile import TEXTS, hostile_notebook
from tests.helpers.small_lab import cells_of, code, notebook, write_small_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return write_small_lab(tmp_path_factory.mktemp("labs"))


#: What nbconvert makes of text, code and pictures.
TAGS = set("div span pre code img button input textarea p a br body main".split())


class Alive(HTMLParser):
    """What in a piece of HTML would run, load or be typeset: tags, attributes, and mathematics outside of <pre>."""

    def __init__(self, page):
        super().__init__()
        self.found, self.pre, self.shown = [], 0, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.pre += tag in ("pre", "textarea")
        if tag not in TAGS:
            self.found.append(tag)
        for name, value in attributes:
            link = name in ("href", "src") and not (value or "").startswith(("data:image/png;base64,", "#"))
            if name.startswith("on") or link or name in ("srcdoc", "style") and "url" in (value or ""):
                self.found.append((tag, name, value))

    def handle_endtag(self, tag):
        self.pre -= tag in ("pre", "textarea")

    def handle_data(self, data):
        self.shown.append(data)
        if not self.pre and any(sign in data for sign in ("$", "\\(", "\\[", "\\begin")):
            self.found.append(data)


def converted(made, template="lab"):
    """Return the part of the page of `made` that comes from its cells."""
    nbconvert = pytest.importorskip("nbconvert")
    if template == "formgrade":
        handlers = pytest.importorskip("nbgrader.server_extensions.formgrader.handlers")
        exporter = nbconvert.HTMLExporter(template_name=template, extra_template_basedirs=[handlers.template_path])
    else:
        exporter = nbconvert.HTMLExporter(template_name=template)
    names = ("base_url", "notebook_id", "assignment_id", "submission_id", "student", "notebook_path", "last_name")
    resources = {**dict.fromkeys([*names, "first_name"], "x"), "index": 0, "total": 1}
    page, _ = exporter.from_notebook_node(made, resources=resources)
    opening, closing = (
        ("<main", "</main>") if template == "lab" else ('<div class="container" id="notebook-con', "</body>")
    )
    inner = page[page.index(opening) :]
    return inner[inner.index(">") + 1 : inner.rindex(closing)].split('<div class="help">')[0]


@pytest.mark.parametrize("template", [pytest.param("formgrade", marks=pytest.mark.long), "lab", "classic"])
def test_nbconvert_makes_no_live_page_of_a_hostile_submission(lab, template):
    marks = marks_of(lab, hostile_notebook(lab), total={"score": 0.0, "reason": TEXTS[0] + TEXTS[7]})
    page = converted(safe_notebook(lab, marks), template)
    alive = Alive(page)
    assert alive.found == []
    shown = "".join(alive.shown)
    assert TEXTS[0] in shown and TEXTS[1] in shown and TEXTS[7] in shown


def test_the_same_cells_unchanged_would_come_alive(lab):
    # what the safe form is for: this is the page that nbconvert makes of the submission itself
    cells = [
        cell
        for cell in json.loads(hostile_notebook(lab))["cells"]
        if not re.search("\ud800|attachment:", cell["source"])
    ]
    made = [nbformat.v4.new_markdown_cell(cell["source"]) for cell in cells]
    page = converted(nbformat.v4.new_notebook(cells=made), "lab")
    assert "script" in Alive(page).found


@settings(max_examples=100)
@given(st.text(alphabet=st.sampled_from("`~<>&$\\[]()!#* \n\tab:/-{}%|\"'"), max_size=60))
def test_no_text_gets_out_of_its_block(text):
    from nbconvert.filters import markdown2html

    alive = Alive(markdown2html(verbatim(text)))
    assert alive.found == [] and "".join(alive.shown).strip() == text.strip()


def test_the_notebook_holds_nothing_but_text_and_png(lab):
    made = safe_notebook(lab, marks_of(lab, hostile_notebook(lab)))
    nbformat.validate(made)
    assert set(made.metadata) == {"kernelspec", "language_info"} and "OWNED" not in str(made.metadata)
    for cell in made.cells:
        assert set(cell.metadata) <= {"nbgrader"} and "attachments" not in cell
        for output in cell.get("outputs", []):
            assert output.output_type == "stream" or set(output.data) == {"image/png", "text/plain"}
            # a picture made anew stays as it is when it is made anew again
            assert output.output_type == "stream" or clean_png(output.data["image/png"]) == output.data["image/png"]
    assert any("image/png" in o.get("data", {}) for c in made.cells for o in c.get("outputs", []))


@pytest.mark.parametrize("damage", ["nothing", "no checks", "no answers", "twice", "backwards", "no metadata"])
def test_every_exercise_has_its_cells_once_whatever_was_done_to_them(lab, damage):
    cells = cells_of(lab)
    if damage == "no checks":
        cells = [cell for cell in cells if not cell["source"].startswith("check(")]
    elif damage == "no answers":
        cells = [cell for cell in cells if "# exercise" not in cell["source"]]
    elif damage == "twice":
        cells += cells_of(lab)
    elif damage == "backwards":
        cells.reverse()
    elif damage == "no metadata":
        cells = [code(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    made = safe_notebook(lab, marks_of(lab, notebook(cells)))
    told = [cell.metadata.nbgrader for cell in made.cells if "nbgrader" in cell.metadata]
    ids = sorted(one.grade_id for one in told)
    assert ids == sorted(
        ["double", "check_double", "total", "check_total", "shifted", "check_shifted", "words"]
    )  # a person marks `words`: its points hang on the answer
    assert sum(one.points for one in told if one.grade) == 10


@pytest.mark.long  # with nbgrader
def test_nbgraders_own_validation_takes_its_metadata(lab):
    validator = pytest.importorskip("nbgrader.nbgraderformat").MetadataValidator()
    for cell in safe_notebook(lab, marks_of(lab, notebook(cells_of(lab)))).cells:
        validator.validate_cell(cell)


def test_the_same_marks_make_the_same_bytes(lab):
    marks = marks_of(lab, hostile_notebook(lab))
    assert nbformat.writes(safe_notebook(lab, marks)) == nbformat.writes(safe_notebook(lab, marks))
