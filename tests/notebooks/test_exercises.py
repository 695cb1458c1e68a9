"""Exercises: a stub is "not yet" and stops nothing. (That model answers pass is seen in `test_run_all`.)"""

import nbformat
import pytest

from notebooks.build import HERE, chapters
from tests.notebooks.answers import exercises, pairs, with_answers

WITH_EXERCISES = [name for name in chapters() if not name.startswith("00")]


def verdicts(notebook):
    """Return the text of every verdict in the outputs of the cells that call `check`."""
    cells = [c for c in notebook.cells if c.cell_type == "code" and "check(" in c.source]
    return [o.data["text/plain"] for c in cells for o in c.outputs if o.output_type == "execute_result"]


@pytest.mark.parametrize("name", WITH_EXERCISES)
def test_every_exercise_has_a_model_answer_and_an_open_verdict_in_the_committed_notebook(name):
    notebook = nbformat.read(HERE / f"{name}.ipynb", as_version=4)
    shown = verdicts(notebook)
    assert [text for text in shown if not text.startswith("…")] == []
    assert len(shown) >= len(exercises(notebook)) == len(pairs(name)) >= 2


@pytest.mark.parametrize("name", WITH_EXERCISES)
def test_every_model_answer_is_put_before_a_check_that_must_pass(name):
    asserted = [cell.source for cell in with_answers(name).cells if "assert repr(_verdict)" in cell.source]
    assert len(asserted) == len(pairs(name))
