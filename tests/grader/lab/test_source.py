"""A lab's source is read into cells with roles, and what is wrong with one is said with its cell and the next step."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.checks.compare import equal
from grader.lab.source import MARKED, LabError, load_lab, read_source, solved, split_solution
from grader.lab.spec import VALUE, Case, Exercise, Lab, Marking
from grader.marking.result_types import Integer

GOOD = """
# %% [markdown]
# # A lab
#
# <!-- points -->

# %%
import math

# %% [markdown]
# Write `double`.


# %% tags=["exercise:double", "points:2"]
def double(number):
    ### BEGIN SOLUTION
    return number + number
    ### END SOLUTION


# %%
check(double)

# %% tags=["notebook-only"]
print(double(2))

# %% tags=["exercise:answer", "points:0.5"]
### BEGIN SOLUTION
answer = 42
### END SOLUTION

# %%
check(answer, "answer")

# %% [markdown] tags=["exercise:essay", "points:3"]
# What did you see? Write here.
"""
MARKING = """
from grader.marking.result_types import Integer
from grader.lab.spec import VALUE, Case, Exercise, Lab, Marking

LAB = Lab(
    "lab99_small",
    [
        Marking(Exercise("double", lambda draw: [Case((2,))], lambda n: 2 * n), Integer()),
        Marking(Exercise("answer", lambda draw: [Case((), truth=42)], call=VALUE), Integer()),
        Marking(Exercise("essay"), manual=True),
    ],
)
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "lab99_small"
    place.mkdir()
    (place / "lab.py").write_text(GOOD, encoding="utf-8")
    (place / "marking.py").write_text(MARKING, encoding="utf-8")
    return place


def change(folder, old, new, name="lab.py"):
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


def test_cells_are_read_with_their_roles(folder):
    roles = [(cell.role, cell.exercise) for cell in read_source(folder).cells]
    assert roles == [
        ("text", None),
        ("given", None),
        ("text", None),
        ("exercise", "double"),
        ("check", "double"),
        ("notebook-only", None),
        ("exercise", "answer"),
        ("check", "answer"),
        ("exercise", "essay"),
    ]


def test_a_solution_becomes_a_stub_and_the_marker_comes_first(folder):
    cells = {cell.exercise: cell for cell in read_source(folder).exercises()}
    assert cells["double"].text == "# exercise: double\ndef double(number):\n    return ...  # your code"
    assert cells["double"].solution == "# exercise: double\ndef double(number):\n    return number + number"
    assert cells["answer"].text == "# exercise: answer\nanswer = ...  # your answer"
    assert cells["essay"].type == "markdown" and cells["essay"].text == "What did you see? Write here."
    assert all(MARKED.search(cells[name].text)[1] == name for name in ("double", "answer"))


def test_a_lab_is_loaded_with_its_points_and_its_source(folder):
    lab = load_lab(folder)
    assert [exercise.points for exercise in lab.exercises] == [2, 0.5, 3]
    assert lab.points == 5.5 and lab.folder == folder
    assert lab.exercise("double").entry == "double"
    with pytest.raises(ValueError, match="has no exercise 'triple'; it has double, answer, essay"):
        lab.exercise("triple")


def test_ids_stay_when_another_cell_changes(folder):
    before = [cell.id for cell in read_source(folder).cells]
    change(folder, "import math", "import math, sys")
    after = [cell.id for cell in read_source(folder).cells]
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in after) and len(set(after)) == len(after)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("lab.py", "    ### END SOLUTION\n\n", "", "exercise:double: its solution must stand between"),
        ("lab.py", '"points:2"', '"point:2"', "exercise:double needs a tag such as points:3"),
        ("lab.py", '"points:2"', '"points:two"', "its points are 'two'"),
        ("lab.py", "exercise:answer", "exercise:double", "two cells are called 'double'"),
        ("lab.py", "check(double)", "check(treble)", r"check\(treble\) does not follow its exercise"),
        ("lab.py", "check(double)", "print(double)", r"exercise double has no cell check\(double\) after it"),
        ("lab.py", "exercise:essay", "exercise:novel", "marking.py has the exercises double, answer, essay; lab.py"),
        ("marking.py", '"lab99_small"', '"lab98"', "marking.py calls the lab 'lab98'; the folder's name decides"),
        ("marking.py", "LAB = Lab", "LABORATORY = Lab", "defines no LAB"),
        ("marking.py", "manual=True", "manual=True, points=4", "essay has 4 points in marking.py, other points in its"),
        ("marking.py", "    ],\n)", '    ],\n    files=("gun.rle",),\n)', "the files gun.rle are not in the folder"),
    ],
)
def test_a_lab_that_is_wrong_is_refused_in_a_sentence(folder, name, old, new, said):
    change(folder, old, new, name)
    with pytest.raises(LabError, match=said):
        load_lab(folder)


def test_a_folder_that_is_no_lab_is_named(tmp_path, folder):
    with pytest.raises(LabError, match="is not a lab: it has no lab.py"):
        load_lab(tmp_path)
    (folder / "marking.py").unlink()
    with pytest.raises(LabError, match="has no marking.py: it is the teacher's half"):
        load_lab(folder)


def test_wrong_answers_may_stand_in_a_file_of_their_own(folder):
    (folder / "wrong.py").write_text(
        'WRONG = {"double": {"half": "def double(n): return n / 2"}}\nSPECIFICATION = {"double": "slow"}\n'
    )
    exercise = load_lab(folder).exercise("double")
    assert list(exercise.wrong) == ["half"] and exercise.specification == "slow"
    change(folder, '"double"', '"treble"', "wrong.py")
    with pytest.raises(LabError, match=r"wrong.py names the exercises treble"):
        load_lab(folder)


def test_an_answer_takes_the_place_of_the_whole_cell_below_the_marker():
    assert solved("# exercise: double\ndef double(n):\n    return ...", "\ndouble = abs\n") == (
        "# exercise: double\ndouble = abs\n"
    )


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["x = 1", "    return 2", "", "### A comment"]), max_size=6))
def test_no_line_of_a_solution_is_in_the_release(lines):
    hidden = [f"{line}  # secret" for line in lines]
    text = "\n".join(["before", "### BEGIN SOLUTION", *hidden, "### END SOLUTION", "after"])
    stubbed, whole = split_solution(text, "x")
    assert "secret" not in stubbed and "SOLUTION" not in stubbed + whole
    assert whole.split("\n") == ["before", *hidden, "after"]


def test_an_exercise_that_can_not_be_marked_is_refused_where_it_is_written():
    with pytest.raises(ValueError, match="a name is lower-case letters"):
        Marking(Exercise("Double"), manual=True)
    with pytest.raises(ValueError, match="it needs evidence"):
        Marking(Exercise("double"))
    with pytest.raises(ValueError, match="the shares must sum to 1"):
        Marking(Exercise("double", lambda draw: []), Integer(), groups={"a": 0.5})
    twice = [Marking(Exercise("double"), manual=True)] * 2
    with pytest.raises(ValueError, match="two exercises have one name"):
        Lab("lab", twice)


def test_a_question_says_what_its_files_hold_and_what_a_driver_adds():
    exercise = Exercise("read", lambda draw: [], len)
    case = Case(("a.rle",), files={"a.rle": b"bo$"}, truth=3)
    assert exercise.question(case) == "read('a.rle'), a.rle holding 'bo$',"
    assert Exercise("pi", lambda draw: [], call=VALUE).question(Case(())) == "pi"


def test_evidence_equals_by_shape_and_value():
    ones = np.ones((2, 3), np.uint8)
    assert equal(ones, np.ones((2, 3), np.int64))
    assert not equal(np.ones((1, 3)), ones) and not equal(np.ones((0, 3)), ones)
    assert equal(np.array([1.0, np.nan]), np.array([1.0 + 1e-9, np.nan]))
    assert not equal(np.array([1.0 + 1e-9]), np.array([1.0]), relative=0)
    assert equal((0, 1), (0, 1)) and not equal((0, 2), (0, 1)) and not equal(None, 0)
