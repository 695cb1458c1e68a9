"""A lab of four small exercises, and submissions for it, made by hand: what the tests of marking are written with."""

import json

LAB = """\
# %% [markdown]
# # A small lab

# %%
import numpy as np

from course import check

# %%
OFFSET = 3


# %% tags=["exercise:double", "points:3"]
def double(values):
    ### BEGIN SOLUTION
    return 2 * np.asarray(values)
    ### END SOLUTION


# %%
check(double)


# %% tags=["exercise:total", "points:2"]
def total(values):
    ### BEGIN SOLUTION
    return sum(int(value) for value in values)
    ### END SOLUTION


# %%
check(total)


# %% tags=["exercise:shifted", "points:1"]
def shifted(number):
    ### BEGIN SOLUTION
    return total([number, OFFSET])
    ### END SOLUTION


# %%
check(shifted)

# %% tags=["notebook-only"]
raise RuntimeError("a picture")

# %% tags=["exercise:words", "points:4"]
words = ...
### BEGIN SOLUTION
words = "why"
### END SOLUTION
"""

MARKING = """\
import numpy as np

from grader.marking.result_types import Array, Integer
from grader.lab.spec import Case, Exercise, Lab, Marking


def arrays(draw):
    drawn = [draw.integers(-50, 50, size) for size in (2, 5)]
    return [Case((values,), edge=values.size < 2) for values in (np.zeros(0, int), np.array([1]), *drawn)]


LAB = Lab(
    "small",
    exercises=[
        Marking(
            Exercise("double", arrays, lambda values: values + values, oracle="the sum with itself"),
            evidence=lambda case: Array("int64", case.arguments[0].shape),
            seconds=2.0,
        ),
        Marking(
            Exercise(
                "total",
                lambda draw: [
                    Case(([],), edge=True, group="small"),
                    Case(([1, 2],), edge=True, group="small"),
                    Case(([int(n) for n in draw.integers(0, 99, 9)],), group="large"),
                ],
                lambda values: int(np.sum(values)),
            ),
            evidence=Integer(),
            groups={"small": 0.5, "large": 0.5},
            seconds=2.0,
        ),
        Marking(
            Exercise("shifted", lambda draw: [Case((int(draw.integers(100)),))], lambda number: number + 3),
            evidence=Integer(),
            needs=("total",),
            seconds=2.0,
        ),
        Marking(Exercise("words"), manual=True),
    ],
    seconds=4.0,
)
"""


def write_small_lab(folder):
    """Write the lab into `folder`/small and return it as `load_lab` does."""
    from grader.lab.source import load_lab

    place = folder / "small"
    place.mkdir()
    (place / "lab.py").write_text(LAB)
    (place / "marking.py").write_text(MARKING)
    return load_lab(place)


def cells_of(lab, answers=None, solved=True):
    """Return the lab's notebook as a list of cells (dicts), with its solutions or, at `answers`, these texts."""
    answers = answers or {}
    made = []
    for cell in lab.source.cells:
        text = cell.solution if solved else cell.text
        if cell.role == "exercise" and cell.exercise in answers:
            text = f"# exercise: {cell.exercise}\n{answers[cell.exercise]}"
        grade_id = {"nbgrader": {"grade_id": cell.id}} if cell.role in ("exercise", "check") else {}
        made.append(code(text, cell.id, **grade_id) if cell.type == "code" else markdown(text, cell.id))
    return made


def code(text, id="", **metadata):
    return {"cell_type": "code", "id": id, "source": text, "metadata": metadata, "outputs": [], "execution_count": None}


def markdown(text, id=""):
    return {"cell_type": "markdown", "id": id, "source": text, "metadata": {}}


def notebook(cells, **more):
    """Return the bytes of a notebook."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}).encode()
