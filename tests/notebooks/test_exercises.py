"""Exercises: a stub is "not yet" and stops nothing; with the model answers in their places every check passes."""

import nbformat
import pytest

from notebooks.build import HERE, chapters, execute, read_source


def verdicts(notebook):
    """Return the text of every verdict in the outputs of the cells that call `check`."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and "check(" in c.source]
    return [o.data["text/plain"] for c in cells for o in c.outputs if o.output_type == "execute_result"]


def exercises(name):
    return [c for c in read_source(name).cells if "exercise" in c.metadata.get("tags", [])]


def solutions(name):
    cells = read_source(name, solutions=True).cells
    return [c for c in cells if "solution" in c.metadata.get("tags", [])]


@pytest.mark.parametrize("name", [name for name in chapters() if not name.startswith("00")])
def test_every_exercise_has_a_model_answer_and_an_open_verdict_in_the_committed_notebook(name):
    shown = verdicts(nbformat.read(HERE / f"{name}.ipynb", as_version=4))
    assert len(exercises(name)) >= 2 and exercises(name) and not [t for t in shown if not t.startswith("…")]
    assert len(shown) >= len(exercises(name)) == len(solutions(name))


@pytest.mark.notebooks
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name in chapters() if not name.startswith("00")])
def test_the_model_answers_pass_every_check(name):
    solved = execute(read_source(name, solutions=True))
    assert len(verdicts(solved)) >= len(solutions(name))
    assert [text for text in verdicts(solved) if not text.startswith("✓")] == []
