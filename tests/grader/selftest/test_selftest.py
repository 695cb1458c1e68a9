"""The skeleton of a lab is fit for a class as it is made, and the self-test sees each fault that is planted in it."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from course.checks.discovery import check_files, exercises_in
from grader.at_home import by_its_checks
from grader.cli import main
from grader.lab.release import notebook_with, release_notebook, text_of, write_release
from grader.lab.source import LabError, load_lab
from grader.marking.why_this_mark import ExerciseMark
from grader.selftest.selftest import _drawn, _is_decided, selftest


def new_lab(folder):
    return CliRunner().invoke(main, ["new-lab", str(folder)])


@pytest.fixture
def folder(tmp_path):
    made = new_lab(tmp_path / "labs" / "lab31_steps")
    assert made.exit_code == 0, made.output
    assert "python -m grader selftest" in made.output
    return tmp_path / "labs" / "lab31_steps"


@pytest.fixture
def report_on(folder, box):
    """A function: the report on the lab after `old` became `new` in a file of it."""

    def report(name, old, new, **settings):
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
        lab = load_lab(folder)
        write_release(lab, folder)
        return selftest(lab, True, box, **{"checks": False, **settings})

    return report


def test_a_new_lab_is_fit_for_a_class(folder, box):
    report = selftest(load_lab(folder), sandbox=box)
    assert report, report
    assert str(report) == "lab31_steps: 5 answers in 24 submissions: fit for a class."


@pytest.mark.parametrize(("name", "problem"), [("Lab 31", "is no name of a lab"), ("lab31_steps", "is not empty")])
def test_a_new_lab_overwrites_nothing_and_has_a_name_that_can_be_imported(folder, name, problem):
    made = new_lab(folder.parent / name)
    assert made.exit_code == 1 and problem in made.output


def test_a_lab_kept_elsewhere_brings_its_own_checks(folder, tmp_path):
    lab = load_lab(folder)
    notebook = write_release(lab, tmp_path / "student")
    assert sorted(path.name for path in notebook.parent.iterdir()) == ["checks.py", "lab31_steps.ipynb"]

    def verdict(answers):
        made = notebook_with(lab, answers) if answers else release_notebook(lab)
        (line,) = by_its_checks(notebook, text_of(made).encode())
        return line.kind, line.reason

    assert verdict({})[0] == "missing"
    assert verdict({"largest_step": lab.source.cell("largest_step").solution})[0] == "right"
    kind, reason = verdict({"largest_step": "def largest_step(numbers):\n    return max(numbers, default=0)"})
    assert kind == "wrong" and "largest_step([1])\ngave 1; expected 0" in reason  # the smallest counterexample


RETURN = "    return max((abs(after - before) for before, after in pairwise(numbers)), default=0)\n"
ORACLE = 'oracle="every pair of places that follow one another"'


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("lab.py", "default=0", "default=1", "the solution, time 1: largest_step gets 0 of 2"),
        (
            "lab.py",
            f"    ### BEGIN SOLUTION\n{RETURN}",
            f"{RETURN}    ### BEGIN SOLUTION\n    return 0\n",
            "the stub: largest_step gets 2 of 2 where 0 is due",
        ),
        ("wrong.py", '"after - before"', '"abs(before - after)"', "only steps up: largest_step gets 2 of 2 where 0"),
        ("wrong.py", "max([0, *", "max([1, *", "the slow specification: largest_step gets 0 of 2 where 2 is due"),
        ("marking.py", "enough=2", "enough=3", "largest_step: 2 wrong answers are written beside the solution; 3 due."),
        ("checks.py", ORACLE, 'oracle=""', "largest_step: it states no oracle."),
        ("checks.py", "step, -step", "step / 0", "ZeroDivisionError"),
    ],
)
def test_a_planted_fault_is_seen(report_on, name, old, new, problem):
    report = report_on(name, old, new)
    assert not report and problem in "\n".join(report.problems)


def test_a_marking_whose_questions_miss_a_wrong_answer_is_seen(report_on):
    returned = "    return [(numbers,) for"
    report = report_on("checks.py", returned, f"    fixed, drawn = [[], [4], [1, 4], [4, 1]], []\n{returned}")
    assert [problem.partition(" (")[0] for problem in report.problems] == [
        "largest_step: the whole range: largest_step gets 2 of 2 where 0 is due"
    ]


def test_an_edit_that_no_longer_fits_the_solution_is_refused(report_on):
    with pytest.raises(LabError, match=r"'abs\(before - after\)' stands 0 times in the solution"):
        report_on("wrong.py", '"abs(after - before)"', '"abs(before - after)"')


@pytest.mark.parametrize(("right", "decided"), [((False, True), True), ((True, False), False), ((True, True), False)])
def test_what_is_called_from_outside_is_decided_by_what_everybody_is_asked_alone(small, right, decided):
    exercise = small.exercise("double")
    cases = tuple({"group": "", "edge": edge, "right": one} for edge, one in zip((True, False), right, strict=True))
    mark = ExerciseMark("double", "graded", 0, 3, "", cases)
    outside = replace(exercise, outside=lambda case, outside: None)
    assert _is_decided(outside, mark, 0.0) is decided and not _is_decided(exercise, mark, 0.0)


def test_of_what_is_called_from_outside_the_drawn_questions_alone_are_repeated(small):
    exercise = small.exercise("double")
    outside = replace(exercise, outside=lambda case, outside: None)
    edges = [[case.edge for case in one.cases(np.random.default_rng(0))] for one in (exercise, _drawn(outside))]
    assert edges[0].count(True) > 0 and edges[1] == [False] * edges[0].count(False)
    assert len(_drawn(outside, most=1).cases(np.random.default_rng(0))) == 1 and _drawn(exercise) is exercise


def test_a_check_that_refuses_the_solution_is_seen(report_on):
    report = report_on("checks.py", "largest = 0", "largest = 1", checks=True)
    assert "largest_step, the solution: the notebook's check says wrong: largest_step([])" in "\n".join(report.problems)


def test_checks_beside_a_notebook_that_fail_are_named(tmp_path):
    assert check_files(tmp_path) == []
    (tmp_path / "lab98_checks.py").write_text("EXERCISES = 1 / 0", encoding="utf-8")
    with pytest.raises(ValueError, match="lab98_checks.py, beside this notebook, can't be used: ZeroDivisionError"):
        exercises_in(*check_files(tmp_path))
