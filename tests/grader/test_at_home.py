"""One's own lab at home: marked as the class would where its sources are, else by the notebook's own checks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from course.__main__ import main as course_command
from grader import at_home
from grader.lab.source import LabError
from grader.sandbox.unsafe import UnsafeSandbox
from grader.submission.read import Unreadable
from tests.helpers.small_lab import cells_of, code, notebook, write_small_lab

ROOT = Path(__file__).resolve().parents[2]
CAPTURED = {"capture_output": True, "text": True, "timeout": 60}
CHECKS = """\
from course.checks import Exercise

EXERCISES = {
    "double": Exercise("double", lambda: [([1, 2],)], lambda values: [2 * v for v in values]),
    "total": Exercise("total", lambda: [([],), ([1, 2],)], sum),
    "shifted": Exercise("shifted", lambda: [(1,)], lambda number: number + 3),
}
"""


@pytest.fixture
def lab(tmp_path):
    return write_small_lab(tmp_path)


@pytest.fixture
def told(lab):
    """Return a function that writes a notebook where no sources are and returns (exit status, what was told)."""
    home = lab.folder.parent / "home"
    home.mkdir()
    (home / "small_checks.py").write_text(CHECKS)

    def report(cells, lab=None, **more):
        (home / "mine.ipynb").write_bytes(notebook(cells, **more))
        lines = []
        return at_home.report(home / "mine.ipynb", lab, lines.append), "\n".join(lines)

    return report


def answers(lab, **changed):
    cells = cells_of(lab, changed)
    for cell in cells:
        if cell["source"].startswith("check("):
            cell["metadata"]["nbgrader"]["points"] = 2
    return cells


def test_with_the_labs_sources_it_is_marked_in_full(lab, told, monkeypatch):
    monkeypatch.setattr(at_home, "mark_submission", lambda lab, data, secret, sandbox=None: marked(lab, data, secret))
    status, text = told(answers(lab, total="def total(values):\n    return len(values)"), lab.folder)
    assert status == 1 and "✓ double   3 / 3" in text and "✕ total    0 / 2" in text
    assert "total([1, 2]) gave 2; expected 3." in text
    assert "… words    0 / 4" in text and "A person marks this one." in text


def marked(lab, data, secret):
    from grader.marking.mark import mark_submission

    return mark_submission(lab, data, secret, UnsafeSandbox)


def test_without_a_sandbox_ones_own_code_is_run_as_a_notebook_would(lab, told, monkeypatch):
    asked = []

    def refusing(lab, data, secret, sandbox=None):
        asked.append(sandbox)
        if sandbox is None:
            raise at_home.SandboxUnavailable("no bwrap here")
        return marked(lab, data, secret)

    monkeypatch.setattr(at_home, "mark_submission", refusing)
    _, text = told(answers(lab), lab.folder)
    assert asked == [None, UnsafeSandbox] and "without a sandbox" in text


def test_without_sources_the_notebooks_own_checks_decide(lab, told):
    wrong = answers(
        lab, total="def total(values):\n    return len(values)", double="def double(values):\n    return ..."
    )
    status, text = told(wrong)
    assert status == 1 and "… double   0 / 2" in text and "✕ total    0 / 2" in text
    assert "total([1, 2])\n    gave 2; expected 3" in text and "not here" in text


def test_all_right_ends_with_zero_and_a_picture_is_not_drawn(lab, told):
    cells = [c for c in answers(lab, double="def double(values):\n    return [2 * v for v in values]")]
    for cell in cells:
        if "a picture" in cell["source"]:
            cell["metadata"]["tags"] = ["notebook-only"]
    status, text = told(cells)
    assert status == 0 and "6 of 6 points" in text


@pytest.mark.parametrize("ends", ["import os; os._exit(3)", "import signal, os; os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_cell_that_ends_the_process_is_said(lab, told, ends):
    status, text = told([*answers(lab)[:3], code(ends), *answers(lab)[3:]])
    assert status == 1 and text.count("did not come to an end") == 3


def test_a_cell_that_never_ends_is_given_up(lab, told, monkeypatch):
    monkeypatch.setattr(at_home, "SECONDS", 6)
    status, text = told([*answers(lab), code("while True: pass"), *answers(lab)[:1]])
    assert status == 1 and "did not come to an end" in text


def test_a_cell_that_fails_is_told_where_a_check_lacks_what_it_defines(lab, told):
    _, text = told(answers(lab, total="def total(values:\n    return 1"))
    assert "✕ total    0 / 2" in text and "SyntaxError" in text


def test_a_check_that_lost_its_points_still_counts_exercises(lab, told):
    cells = [{**cell, "metadata": None} for cell in answers(lab)]
    _, text = told(cells)
    assert "2 of 3 exercises right" in text


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"cells": 3}', b"\xff\xfe\x00"])
def test_what_is_no_notebook_is_said_in_a_sentence(tmp_path, data):
    (tmp_path / "mine.ipynb").write_bytes(data)
    with pytest.raises(Unreadable):
        at_home.report(tmp_path / "mine.ipynb")


def test_sources_are_found_by_the_notebooks_own_word_or_its_name(lab, tmp_path):
    data = json.dumps({"metadata": {"course": {"lab": "lab03_game_of_life"}}}).encode()
    assert at_home.find_sources(tmp_path / "x.ipynb", data) == ROOT / "labs" / "lab03_game_of_life"
    assert at_home.find_sources(tmp_path / "lab03_game_of_life (1).ipynb", b"{}").name == "lab03_game_of_life"
    assert at_home.find_sources(lab.folder / "x.ipynb", b"{}") == lab.folder
    for name in ("../../etc", "nothing_like_it", 3, None):
        told = json.dumps({"metadata": {"course": {"lab": name}}}).encode()
        assert at_home.find_sources(tmp_path / "x.ipynb", told) is None


def test_a_folder_that_is_no_lab_is_said(lab, told, tmp_path):
    with pytest.raises(LabError, match="not a lab"):
        told(answers(lab), tmp_path)


def test_the_command_tells_a_missing_file_in_a_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "course", "check", "nothing.ipynb"],
        **{"capture_output": True, "text": True, "cwd": tmp_path, "timeout": 60},
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1 and "nothing.ipynb" in done.stderr and "Traceback" not in done.stderr


def test_where_nothing_that_marks_is_installed_the_command_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    found = CliRunner().invoke(course_command, ["check", "mine.ipynb"])
    assert found.exit_code == 1 and "what marks labs is not installed here" in found.output


def test_the_course_comes_without_the_grader_and_the_command_line_too():
    loaded = "import sys, course, course.__main__\nprint([name for name in sys.modules if name.startswith('grader')])"
    assert subprocess.run([sys.executable, "-c", loaded], **CAPTURED).stdout == "[]\n"
