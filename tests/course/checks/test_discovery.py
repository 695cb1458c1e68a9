"""Checks beside a notebook are found wherever it lies, as a package of their folder, and their functions travel."""

import os
import subprocess
import sys

import cloudpickle
import pytest

from course.checks import check
from course.checks.discovery import check_files, check_files_of_the_checkout, exercises_in, load_part

CHECKS = """
from course.checks import Exercise
from .oracles import times

EXERCISES = {"scaled": Exercise("scaled", lambda: [(1,), (2,)], times)}
"""


def write_lab(folder, factor):
    folder.mkdir(parents=True)
    (folder / "checks.py").write_text(CHECKS, encoding="utf-8")
    (folder / "oracles.py").write_text(f"FACTOR = {factor}\n\ndef times(n):\n    return FACTOR * n\n", encoding="utf-8")
    return folder


def test_two_labs_of_one_name_are_two_packages(tmp_path, monkeypatch):
    folders = [write_lab(tmp_path / place / "lab 1", factor) for place, factor in (("a", 3), ("b", 5))]
    assert [exercises_in(folder / "checks.py")["scaled"].expected(2) for folder in folders] == [6, 10]
    for folder, factor in zip(folders, (3, 5), strict=True):
        monkeypatch.chdir(folder)
        assert check(lambda n, factor=factor: factor * n, "scaled")


def test_a_file_that_was_edited_is_loaded_again(tmp_path):
    folder = write_lab(tmp_path / "lab", 3)
    assert load_part(folder, "checks") is load_part(folder, "checks")
    before = exercises_in(folder / "checks.py")["scaled"]
    (folder / "oracles.py").write_text("def times(n):\n    return 70 * n\n", encoding="utf-8")
    os.utime(folder / "oracles.py", (1, 1))
    assert (before.expected(1), exercises_in(folder / "checks.py")["scaled"].expected(1)) == (3, 70)
    with pytest.raises(FileNotFoundError, match=r"has no wrong\.py"):
        load_part(folder, "wrong")


def test_a_function_of_a_lab_travels_to_a_process_that_has_no_such_package(tmp_path):
    sent = cloudpickle.dumps(load_part(write_lab(tmp_path / "lab", 3), "oracles").times)
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(14))"
    done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, timeout=60, cwd=tmp_path)
    assert done.stdout.strip() == b"42", done.stderr


def test_a_notebook_that_was_copied_alone_finds_its_checks_in_the_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert check(lambda board: board, "next_generation").state == "wrong"
    assert check(lambda rows, columns: 4 * rows * columns, "matrix_bytes")
    monkeypatch.setattr("course.checks.discovery.CHECKOUT", tmp_path)
    alone = check(lambda board: board, "next_generation")
    assert alone.state == "not yet" and "no exercise 'next_generation'" in alone.message
    assert "the checks.py that comes with the notebook" in alone.message


def test_checks_are_found_where_jupyter_says_that_the_notebook_lies(tmp_path, monkeypatch):
    folder = write_lab(tmp_path / "lab", 3)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert check_files() == []
    monkeypatch.setenv("JPY_SESSION_NAME", str(folder / "lab.ipynb"))
    assert check_files() == [folder / "checks.py"]
    monkeypatch.setenv("JPY_SESSION_NAME", "not-a-path")
    assert check_files() == []


def test_no_two_exercises_of_chapters_and_labs_share_a_name():
    files = check_files_of_the_checkout()
    names = [name for path in files for name in exercises_in(path)]
    assert len(files) >= 16 and len(set(names)) == len(names)
