"""The skeleton of a lab, `python -m grader new-lab FOLDER`: one small exercise, stated, checked, marked and got wrong.

It is fit for a class as it is made (`python -m grader selftest FOLDER`), and meant to be edited.
"""

import re
from pathlib import Path

from grader.lab.release import write_release
from grader.lab.source import LabError, load_lab

LAB = """\
# %% [markdown]
# # NAME
#
# **Which question does this lab answer?**
#
# | | |
# |---|---|
# | You will | find the largest step between neighbours |
# | Minutes | 15 |
#
# <!-- points -->
#
# Every exercise is a function. Write its body, run the cell, then run the `check` below it: it looks for the smallest
# input on which your answer is wrong. Marks are made in the same way, on other inputs.

# %%
from itertools import pairwise

from course import check

# %% [markdown]
# ## 1. The largest step
#
# Write `largest_step(numbers)`: the largest difference, up or down, between two neighbours in a list of whole numbers;
# 0 where there are no two. The slow specification: look at every pair of places that follow one another.


# %% tags=["exercise:largest_step", "points:2"]
def largest_step(numbers):
    ### BEGIN SOLUTION
    return max((abs(after - before) for before, after in pairwise(numbers)), default=0)
    ### END SOLUTION


# %%
check(largest_step)
"""

CHECKS = '''\
"""The exercises of NAME, stated for the notebook's check and for the marks. Students get this file."""

from course.checks.exercise import Exercise, asking, by_name


def lists(draw):
    """Return lists of whole numbers: those that everybody gets, the smallest first, and drawn ones."""
    fixed = [[], [3], [1, 4], [4, 1], [2, 2, 7]]
    drawn = [draw.integers(-50, 50, size).tolist() for size in (3, 8, 30)]
    return [(numbers,) for numbers in fixed], [(numbers,) for numbers in drawn]


def place_by_place(numbers):
    """Every pair of places that follow one another, the largest step so far kept."""
    largest = 0
    for place in range(len(numbers) - 1):
        step = numbers[place + 1] - numbers[place]
        largest = max(largest, step, -step)
    return largest


def short_lists():
    """Legal inputs, as Hypothesis draws them and makes them smaller."""
    from hypothesis import strategies

    return strategies.tuples(strategies.lists(strategies.integers(-9, 9), max_size=5))


EXERCISES = by_name(
    Exercise(
        "largest_step",
        asking(lists),
        place_by_place,
        inputs=short_lists,
        oracle="every pair of places that follow one another",
        hint="a step down counts as much as a step up.",
    ),
)
'''

MARKING = '''\
"""How NAME is marked: which kind of value each answer must give. The teacher's; never published."""

from grader.lab.spec import Lab, Marking
from grader.marking.result_types import Integer

from .checks import EXERCISES

LAB = Lab(
    "NAME",
    title="NAME",
    exercises=[Marking(EXERCISES["largest_step"], Integer())],
    imports=(),
    enough=2,  # wrong answers of each exercise; write five before a class gets the lab
)
'''

WRONG = '''\
"""Plausible wrong answers to NAME, which must lose, and the slow specifications. The teacher's; never published.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit

SPECIFICATION = {
    "largest_step": """
def largest_step(numbers):
    steps = [abs(numbers[place + 1] - numbers[place]) for place in range(len(numbers) - 1)]
    return max([0, *steps])
""",
}

WRONG = {
    "largest_step": {
        "only steps up": Edit("abs(after - before)", "after - before"),
        "the whole range": """
def largest_step(numbers):
    return max(numbers, default=0) - min(numbers, default=0)
""",
    },
}
'''

FILES = {"lab.py": LAB, "checks.py": CHECKS, "marking.py": MARKING, "wrong.py": WRONG}


def make_lab(folder: Path) -> Path:
    """Make a lab of one exercise in `folder`, with its release; return the notebook's path.

    The folder's name is the lab's. Raises LabError where it is no name for one, or where the folder has files already.
    """
    folder = Path(folder).absolute()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", folder.name):
        raise LabError(f"{folder.name!r} is no name of a lab: lower-case letters, digits and _, such as lab31_steps.")
    if folder.exists() and any(folder.iterdir()):
        raise LabError(f"{folder} is not empty; name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("NAME", folder.name), encoding="utf-8")
    return write_release(load_lab(folder), folder)
