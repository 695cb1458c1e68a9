"""The pipeline: a source makes the same notebook twice, and a notebook that differs from its source is noticed."""

import shutil
from pathlib import Path

import nbformat
import pytest

from notebooks.build import BuildError, build, chapters, difference, read_source
from notebooks.made_from import stamps

SOURCE = """# %% [markdown]
# # A small chapter

# %% tags=["nbval-check-output"]
1 + 1

# %% tags=["timing"]
import time
print(time.perf_counter_ns())

# %%
import ipywidgets
ipywidgets.IntSlider(value=3)

# %% tags=["raises-exception"]
1 / 0

# %% tags=["exercise"]
def double(n):
    ...

# %% tags=["solution"]
def double(n):
    return 2 * n

# %%
double(4)

# %% tags=["timing"]
print("card", time.perf_counter_ns())

# %% tags=["your-turn"]
@ipywidgets.interact(n=(1, 9))
def mine(n=4):
    print("twice", n)
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "90_small.py").write_text(SOURCE, encoding="utf-8")
    return {"sources": tmp_path / "source", "target": tmp_path}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the small chapter's source, which has been built there."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "source").mkdir()
    (folder / "source" / "90_small.py").write_text(SOURCE, encoding="utf-8")
    build("90_small", sources=folder / "source", target=folder)
    return folder


@pytest.fixture
def small_built(built, small, tmp_path):
    """As `small`, with the notebook built."""
    shutil.copy(built / "90_small.ipynb", tmp_path)
    return small


def test_two_builds_give_the_same_bytes_and_keep_the_timing(small_built, tmp_path):
    first = (tmp_path / "90_small.ipynb").read_bytes()
    build("90_small", **small_built)
    assert (tmp_path / "90_small.ipynb").read_bytes() == first
    assert b"widget-view" not in first and b"solution" not in first and b"ZeroDivisionError" in first
    last = nbformat.read(tmp_path / "90_small.ipynb", as_version=4).cells[-1]
    assert "interact" in last.source and last.execution_count and last.outputs == []


@pytest.mark.parametrize("name", ["02_matmul_timing", "03_game_of_life", "05_distributed_pi"])
def test_a_chapter_with_controls_has_a_cell_for_the_readers_own_function_after_words_on_what_to_expect(name):
    cells = read_source(name).cells
    (place,) = [place for place, cell in enumerate(cells) if "your-turn" in cell.metadata.get("tags", [])]
    assert "@ipywidgets.interact(" in cells[place].source
    assert "**Your turn.**" in cells[place - 1].source and "Expect" in cells[place - 1].source


def test_a_timing_whose_source_changed_is_taken_again_and_with_it_all_of_the_chapter(small_built, tmp_path):
    first = nbformat.read(tmp_path / "90_small.ipynb", as_version=4)
    source = tmp_path / "source" / "90_small.py"
    source.write_text(SOURCE.replace("print(time", "print('again', time"), encoding="utf-8")
    assert "was not made from" in difference("90_small", **small_built)
    build("90_small", **small_built)
    second = nbformat.read(tmp_path / "90_small.ipynb", as_version=4)
    assert "again" in second.cells[2].outputs[0].text and "again" not in first.cells[2].outputs[0].text
    cards = [next(cell.outputs for cell in made.cells if '"card"' in cell.source) for made in (first, second)]
    assert cards[0] != cards[1]
    assert difference("90_small", **small_built) is None


OUTLOOK = """# %%
from course.chapter_times import LIMIT
from course.widgets import CourseMap

# %% tags=["timing"]
import time
shown = LIMIT
print(shown, time.perf_counter_ns())

# %%
CourseMap(cores=1)
"""


@pytest.mark.long
def test_a_stored_output_is_stale_when_the_file_of_the_course_behind_it_changes(tmp_path, monkeypatch):
    (tmp_path / "90_outlook.py").write_text(OUTLOOK, encoding="utf-8")
    places = {"sources": tmp_path, "target": tmp_path}
    build("90_outlook", **places)
    first = nbformat.read(tmp_path / "90_outlook.ipynb", as_version=4)
    assert difference("90_outlook", **places) is None
    with monkeypatch.context() as within:
        within.setattr("course.widgets.exhibits.page_files.text_of", lambda package, name: f"// another {name}")
        assert "carries scripts of the page that have changed" in difference("90_outlook", **places)
    read = Path.read_text
    edited = {"chapter_times.py": "LIMIT = 31"}
    monkeypatch.setattr(
        Path, "read_text", lambda path, *args, **more: edited.get(path.name) or read(path, *args, **more)
    )
    assert "print(shown, time.perf_counter_ns())" in difference("90_outlook", **places)
    build("90_outlook", **places)
    second = nbformat.read(tmp_path / "90_outlook.ipynb", as_version=4)
    stamp = second.cells[1].metadata.pop("made_from")
    nbformat.write(second, tmp_path / "90_outlook.ipynb")
    build("90_outlook", **places, keep_timings=True)
    third = nbformat.read(tmp_path / "90_outlook.ipynb", as_version=4)
    assert third.cells[1].outputs == second.cells[1].outputs and third.cells[1].metadata["made_from"] == stamp
    assert second.cells[1].outputs != first.cells[1].outputs and difference("90_outlook", **places) is None
    # a widget's picture is its engine's
    assert second.cells[2].metadata["made_from"] != first.cells[2].metadata["made_from"]


def test_a_stored_output_is_stale_when_a_cell_above_that_it_uses_changes(tmp_path):
    found = []
    for number in (1, 2):
        cells = [f"number = {number}", "other = 3", "twice = 2 * number", "print(twice)", "print(other)"]
        (tmp_path / "90_two.py").write_text("\n".join(f"# %%\n{cell}\n" for cell in cells), encoding="utf-8")
        notebook = read_source("90_two", folder=tmp_path)
        made = stamps(notebook.cells)
        found.append({cell.source: made[cell["id"]] for cell in notebook.cells})
    assert [found[0][cell] == found[1][cell] for cell in ("print(twice)", "print(other)")] == [False, True]


@pytest.mark.parametrize("change", ["an edited cell", "a removed tag", "no outputs"])
def test_a_notebook_that_differs_from_its_source_is_noticed(small_built, tmp_path, change):
    path = tmp_path / "90_small.ipynb"
    notebook = nbformat.read(path, as_version=4)
    if change == "an edited cell":
        notebook.cells[1].source = "1 + 2"
    elif change == "a removed tag":
        notebook.cells[1].metadata.tags = []
    else:
        for cell in notebook.cells:
            cell["outputs"] = [] if cell.cell_type == "code" else cell.get("outputs")
            if cell.cell_type != "code":
                del cell["outputs"]
    nbformat.write(notebook, path)
    assert "make notebooks" in difference("90_small", **small_built)


@pytest.mark.parametrize(
    "line", ["object()", "import os; print(os.getcwd())", "import sys; print('w', file=sys.stderr)"]
)
def test_an_output_that_tells_one_run_or_machine_from_another_is_refused(tmp_path, line):
    (tmp_path / "90_bad.py").write_text(f"# %%\n{line}\n", encoding="utf-8")
    target = tmp_path
    if "getcwd" in line:  # a path under the project is what must not be stored
        line = f"print({str(chapters.__globals__['HERE'])!r})"
        (tmp_path / "90_bad.py").write_text(f"# %%\n{line}\n", encoding="utf-8")
    with pytest.raises(BuildError, match="90_bad"):
        build("90_bad", sources=tmp_path, target=target)
    assert not (tmp_path / "90_bad.ipynb").exists()


def test_solutions_stand_where_the_exercises_stood(small):
    source = read_source("90_small", solutions=True, folder=small["sources"])
    code = [cell.source for cell in source.cells if cell.cell_type == "code"]
    assert any("return 2 * n" in text for text in code) and not any("..." in text for text in code)


@pytest.mark.parametrize("name", chapters())
def test_every_committed_notebook_was_made_from_its_source(name):
    assert difference(name) is None
