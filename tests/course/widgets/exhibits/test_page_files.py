"""The page's files: an output carries those that no output above it and no other cell of the kernel carries."""

import re

import pytest

from course.progress_line import STATIC_TWINS
from course.widgets import Predict, RequestDots, SliceMean
from course.widgets.exhibits import give
from course.widgets.exhibits.page_files import LOADER, PageFile, carried_in, files_needed, files_of, with_one_copy
from notebooks.build import HERE, chapters
from tests.course.widgets.page_of import html_of


@pytest.fixture
def stored(monkeypatch):
    monkeypatch.setenv(STATIC_TWINS, "1")


@pytest.mark.usefixtures("stored")
def test_of_several_outputs_the_first_that_needs_a_file_carries_it_and_no_other():
    pages = [html_of(RequestDots()), html_of(SliceMean()), html_of(RequestDots(rate=200))]
    carried = set()
    once = [with_one_copy(page, carried) for page in pages]
    lists = [carried_in(page) for page in once]
    assert lists[2] == [] and LOADER.label in lists[0] and len(lists[0]) > 8 > len(lists[1]) > 0
    assert set(sum(lists, [])) == carried and len(sum(lists, [])) == len(carried)
    assert carried == {label for page in pages for needed in files_needed(page) for label in needed.split()} | {
        LOADER.label
    }
    assert len(once[2]) < 15_000 and once[0] == pages[0]
    assert [with_one_copy(page, set()) for page in once] == pages


@pytest.mark.usefixtures("stored")
def test_an_output_that_carries_an_older_version_of_a_file_gets_the_present_one():
    page = html_of(SliceMean())
    (own,) = files_of("slice_mean.js", room="course.widgets")
    older = page.replace(own.label, "widgets/slice_mean.js#00000000").replace(own.text, "export const draw = 1;")
    assert with_one_copy(older, set()) == page != older
    assert 'data-files=""' not in page and with_one_copy("<p>no exhibit</p>", set()) == "<p>no exhibit</p>"


def test_a_file_that_would_end_its_element_is_refused(monkeypatch):
    monkeypatch.setattr("course.widgets.exhibits.page_files.text_of", lambda package, name: "'</script>'")
    with pytest.raises(ValueError, match=r"course.widgets/a.js: holds </script"):
        _ = PageFile("course.widgets", "a.js").text


@pytest.fixture
def cell(monkeypatch):
    """A function that makes the present cell of a kernel another one; files are carried by none at first."""
    opened = []
    monkeypatch.setattr(give, "_carriers", {})
    monkeypatch.setattr(give, "_widgets", {})
    monkeypatch.setattr(give, "Given", lambda files: opened.append(files))

    def show(exhibit, cell, message="1", deleted=()):
        about = {"cellId": cell, "deletedCells": list(deleted)} if cell else {}
        monkeypatch.setattr(give, "_request", lambda: {"header": {"msg_id": message}, "metadata": about})
        return carried_in(html_of(exhibit))

    show.opened = opened
    return show


def test_in_a_kernel_one_cell_carries_a_file_also_when_it_runs_again_until_it_is_deleted(cell):
    first = cell(SliceMean(), "one")
    assert LOADER.label in first and cell(SliceMean(), "two") == []
    assert cell(SliceMean(), "one", "2") == first
    assert cell(SliceMean(), "three", deleted=["one"]) == first
    assert cell(SliceMean(), "one") == []


def test_a_kernel_gives_the_page_each_file_once_for_exhibits_and_for_bets(cell):
    dots, bet = RequestDots(), Predict("?", 0, 6, name="01 six ops")
    for exhibit in (dots, bet, SliceMean(), bet):
        cell(exhibit, "a cell")
    given = [label for files in cell.opened for label in files]
    assert len(given) == len(set(given)) > 12 and len(cell.opened) == 3
    assert {"widgets.bets/bet.js", "widgets/slice_mean.js"} < {label.partition("#")[0] for label in given}


def test_where_cells_have_no_names_each_run_is_a_cell(cell):
    assert cell(SliceMean(), None, "1") != [] == cell(SliceMean(), None, "2")


@pytest.mark.parametrize("chapter", chapters())
def test_a_chapter_carries_each_file_once(chapter):
    text = (HERE / f"{chapter}.ipynb").read_text(encoding="utf-8")
    carried = re.findall(r'data-file=\\"([^\\]+)\\"', text)
    needed = {label for labels in re.findall(r'data-files=\\"([^\\]+)\\"', text) for label in labels.split()}
    assert len(carried) == len(set(carried)) > 8 and needed < set(carried)
