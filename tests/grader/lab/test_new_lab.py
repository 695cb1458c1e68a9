"""The skeleton of a lab: made by one command, released, checked, and fit for a class as it is."""

import pytest
from click.testing import CliRunner

from grader.at_home import by_its_checks
from grader.cli import main
from grader.lab.release import notebook_with, release_notebook, text_of, write_release
from grader.lab.source import load_lab
from grader.sandbox.unsafe import UnsafeSandbox
from grader.selftest.selftest import selftest


@pytest.fixture
def folder(tmp_path):
    made = CliRunner().invoke(main, ["new-lab", str(tmp_path / "labs" / "lab31_steps")])
    assert made.exit_code == 0, made.output
    assert "python -m grader selftest" in made.output
    return tmp_path / "labs" / "lab31_steps"


def test_it_is_fit_for_a_class_as_it_is_made(folder):
    report = selftest(load_lab(folder), True, UnsafeSandbox)
    assert report and report.answers == 5, report


def test_its_release_checks_right_and_wrong_answers(folder, tmp_path):
    lab = load_lab(folder)
    notebook = write_release(lab, tmp_path / "student")
    assert sorted(path.name for path in notebook.parent.iterdir()) == ["checks.py", "lab31_steps.ipynb"]

    def said(answers):
        made = notebook_with(lab, answers) if answers else release_notebook(lab)
        (line,) = by_its_checks(notebook, text_of(made).encode())
        return line.kind, line.reason

    assert said({})[0] == "missing"
    assert said({"largest_step": lab.source.cell("largest_step").solution})[0] == "right"
    kind, reason = said({"largest_step": "def largest_step(numbers):\n    return max(numbers, default=0)"})
    assert kind == "wrong" and "largest_step([1])\ngave 1; expected 0" in reason  # the smallest counterexample


@pytest.mark.parametrize(("name", "said"), [("Lab 31", "is no name of a lab"), ("lab31_steps", "is not empty")])
def test_it_overwrites_nothing_and_has_a_name_that_can_be_imported(folder, name, said):
    made = CliRunner().invoke(main, ["new-lab", str(folder.parent / name)])
    assert made.exit_code == 1 and said in made.output
