"""The self-test sees what is wrong with a lab: each is planted here, in a small lab marked without a sandbox."""

import pytest

from course.checks.discovery import check_files, exercises_in
from grader.at_home import by_its_checks
from grader.lab.release import notebook_with, text_of, write_release
from grader.lab.source import LabError, load_lab
from grader.selftest.selftest import selftest

LAB = """
# %% [markdown]
# # A small lab

# %%
from course import check

# %% [markdown]
# Write `matrix_bytes(rows, columns)`: the bytes of a float32 matrix.


# %% tags=["exercise:matrix_bytes", "points:2"]
def matrix_bytes(rows, columns):
    ### BEGIN SOLUTION
    return 4 * rows * columns
    ### END SOLUTION


# %%
check(matrix_bytes)
"""
MARKING = '''
from grader.marking.result_types import Integer
from grader.lab.spec import Case, Edit, Exercise, Lab, Marking


def count_bytes(rows, columns):
    return len(bytes(4)) * rows * columns


def cases(draw):
    return [Case((1, 1), edge=True), Case((int(draw.integers(2, 40)), int(draw.integers(2, 40))))]


LAB = Lab(
    "lab98_bytes",
    [
        Marking(
            Exercise("matrix_bytes", cases, count_bytes, oracle="every number counted"),
            Integer(),
            specification="""
def matrix_bytes(rows, columns):
    return sum(4 for _ in range(rows) for _ in range(columns))
""",
            wrong={
                "eight bytes": Edit("4", "8"),
                "rows only": Edit(" * columns", ""),
                "columns only": Edit(" * rows", ""),
                "a sum": Edit("rows * columns", "rows + columns"),
                "nothing": Edit("4 * rows * columns", "None"),
            },
        )
    ],
    imports=(),
)
'''


@pytest.fixture
def tested(tmp_path, box):
    """A function: the report on the small lab after `old` became `new` in a file of it."""

    def report(old="", new="", name="marking.py", short=True, checks=False):
        folder = tmp_path / "lab98_bytes"
        folder.mkdir()
        texts = {"lab.py": LAB, "marking.py": MARKING}
        assert old in texts[name]
        texts[name] = texts[name].replace(old, new) if old else texts[name]
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        lab = load_lab(folder)
        write_release(lab, folder)
        return selftest(lab, short, box, checks=checks)

    return report


def problem(report):
    assert not report
    return "\n".join(report.problems)


def test_a_sound_lab_is_fit_for_a_class(tested):
    report = tested(short=False, checks=True)
    assert report and report.answers == 8 and report.marked == 27
    assert str(report) == "lab98_bytes: 8 answers in 27 submissions: fit for a class."


def test_a_wrong_solution_is_seen(tested):
    assert "the solution, time 1: matrix_bytes gets 0 of 2" in problem(
        tested("rows * columns\n", "rows * columns - 1\n", "lab.py")
    )


def test_a_wrong_answer_that_is_right_is_seen(tested):
    found = problem(tested('Edit("4", "8")', 'Edit("4 * rows", "rows * 4")'))
    assert "eight bytes: matrix_bytes gets 2 of 2 where 0 is due" in found


def test_a_marking_that_is_weaker_than_the_check_is_seen(tested):
    found = problem(tested("Case((int(draw.integers(2, 40)), int(draw.integers(2, 40))))", "Case((1, 1))"))
    assert "rows only: matrix_bytes gets 2 of 2 where 0 is due" in found
    assert "eight bytes" not in found


def test_a_stub_that_gets_marks_is_seen(tested):
    solved = "    ### BEGIN SOLUTION\n    return 4 * rows * columns"
    given = "    return 4 * rows * columns\n    ### BEGIN SOLUTION\n    return 0"
    assert "the stub: matrix_bytes gets 2 of 2 where 0 is due" in problem(tested(solved, given, "lab.py"))


def test_too_few_wrong_answers_are_seen(tested):
    found = problem(tested('                "a sum": Edit("rows * columns", "rows + columns"),\n', ""))
    assert found == "matrix_bytes: 4 wrong answers are written beside the solution; 5 due."


def test_a_missing_oracle_is_seen(tested):
    assert "matrix_bytes: it states no oracle." in problem(tested('oracle="every number counted"', 'oracle=""'))


def test_a_specification_that_gets_other_than_the_lab_says_is_seen(tested):
    found = problem(tested("sum(4 for", "sum(8 for"))
    assert "the slow specification: matrix_bytes gets 0 of 2 where 2 is due" in found


def test_an_edit_that_no_longer_fits_the_solution_is_refused(tested):
    with pytest.raises(LabError, match="'rows - columns' stands 0 times in the solution"):
        tested('Edit("rows * columns"', 'Edit("rows - columns"')


def test_a_judge_that_fails_is_our_sides_failure(tested):
    found = problem(tested("cases, count_bytes", "cases, lambda rows, columns: 1 / 0"))
    assert "ZeroDivisionError" in found


CHECKS = """
from course.checks import Exercise

EXERCISES = {"kept_elsewhere": Exercise("kept_elsewhere", lambda: [(1, 1), (2, 3)], lambda r, c: 4 * r * c)}
"""


def test_a_lab_kept_elsewhere_brings_its_own_checks(tmp_path):
    folder = tmp_path / "lab98_bytes"
    folder.mkdir()
    for name, text in {"lab.py": LAB, "marking.py": MARKING, "checks.py": CHECKS}.items():
        (folder / name).write_text(text.replace("matrix_bytes", "kept_elsewhere"), encoding="utf-8")
    lab = load_lab(folder)
    notebook = write_release(lab, tmp_path / "release")
    assert (tmp_path / "release" / "checks.py").read_text(encoding="utf-8") == CHECKS
    solution = lab.source.cell("kept_elsewhere").solution
    for answer, kind in ((solution, "right"), (solution.replace("4", "5"), "wrong")):
        data = text_of(notebook_with(lab, {"kept_elsewhere": answer})).encode()
        assert [line.kind for line in by_its_checks(notebook, data)] == [kind]


def test_a_check_that_refuses_the_solution_is_seen(tmp_path, box):
    folder = tmp_path / "lab98_bytes"
    folder.mkdir()
    wrong = CHECKS.replace("kept_elsewhere", "matrix_bytes").replace("4 * r", "8 * r")
    for name, text in {"lab.py": LAB, "marking.py": MARKING, "checks.py": wrong}.items():
        (folder / name).write_text(text, encoding="utf-8")
    lab = load_lab(folder)
    write_release(lab, folder)
    found = problem(selftest(lab, True, box))
    assert "matrix_bytes, the solution: the notebook's check says wrong: matrix_bytes(1, 1)" in found


def test_checks_beside_a_notebook_that_fail_are_named(tmp_path):
    assert check_files(tmp_path) == []
    (tmp_path / "lab98_checks.py").write_text("EXERCISES = 1 / 0", encoding="utf-8")
    with pytest.raises(ValueError, match="lab98_checks.py, beside this notebook, can't be used: ZeroDivisionError"):
        exercises_in(*check_files(tmp_path))
