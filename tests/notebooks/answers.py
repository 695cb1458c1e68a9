"""Model answers beside the stubs: after each exercise's check, which finds the stub, the answer and its check."""

import ast
from functools import cache

import nbformat

from notebooks.build import HERE, read_source


@cache
def pairs(name):
    """Return (exercise, model answer) of each exercise of chapter `name`, as sources of cells."""
    published = read_source(name)
    answers = [c.source for c in read_source(name, solutions=True).cells if "solution" in c.metadata.get("tags", [])]
    assert not {cell.source for cell in published.cells} & set(answers), "an answer stands in the published chapter"
    return list(zip(exercises(published), answers, strict=True))


def model_answers(name, **imported):
    """Return exercise -> model answer of chapter `name`; `imported` are names that its cells import above."""
    names = dict(imported)
    for _, source in pairs(name):
        exec(source, names)
    return {key: value for key, value in names.items() if key != "__builtins__" and key not in imported}


def exercises(notebook):
    """Return the sources of the cells that the learner fills in."""
    return [cell.source for cell in notebook.cells if "exercise" in cell.metadata.get("tags", [])]


def with_answers(name):
    """Return the committed notebook of chapter `name`, in which every check is seen to pass with the model answer."""
    notebook = nbformat.read(HERE / f"{name}.ipynb", as_version=4)
    answers, cells, exercise = dict(pairs(name)), [], None
    for cell in notebook.cells:
        cells.append(cell)
        exercise = cell if cell.source in answers else exercise
        if exercise is not None and cell.cell_type == "code" and "check(" in cell.source and cell is not exercise:
            sources = [answers[exercise.source], _asserted(cell.source)]
            cells += [nbformat.v4.new_code_cell(source) for source in sources]
            exercise = None
    assert exercise is None, f"no check follows this exercise:\n\n{exercise.source}"
    notebook.cells = cells
    return notebook


def _asserted(source):
    """Return the source with an assertion in place of its last expression: that the check passes."""
    *before, last = ast.parse(source).body
    lines = [ast.unparse(statement) for statement in before]
    return "\n".join([*lines, f"_verdict = {ast.unparse(last)}", "assert repr(_verdict).startswith('✓'), _verdict"])
