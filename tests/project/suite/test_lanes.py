"""Tests are shared out by files that exist, the longest first, and a file's tests stay together unless it says so."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.lanes import APART, LONGEST, Lanes, longest_first

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", sorted({*LONGEST, *APART}))
def test_a_file_that_is_named_exists(name):
    assert (ROOT / name).is_file()


def test_the_longest_come_first_and_the_others_stay_in_order():
    names = ["tests/a.py::test_1", f"{LONGEST[1]}::test_2", "tests/a.py::test_3", f"{LONGEST[0]}::test_4"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    longest_first(items)
    assert [item.nodeid for item in items] == [names[3], names[1], names[0], names[2]]


def test_a_file_is_one_piece_of_work_and_a_chapter_is_one():
    scope = Lanes._split_scope
    assert scope(None, "tests/a.py::test_1[x::y]") == scope(None, "tests/a.py::Group::test_2") == "tests/a.py"
    assert scope(None, f"{APART[0]}::test_1") != scope(None, f"{APART[0]}::test_2")


LANES = """
from tests.helpers.lanes import Lanes

def pytest_xdist_make_scheduler(config, log):
    return Lanes(config, log)
"""
DEADLY = """
import os
import pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    if {dies} and number == 2:
        os._exit(9)
"""


@pytest.mark.long
def test_a_process_that_dies_costs_one_test_and_the_run_ends(tmp_path):
    (tmp_path / "conftest.py").write_text(LANES)
    for number in range(4):
        (tmp_path / f"test_{number}.py").write_text(DEADLY.format(dies=number == 1))
    command = [sys.executable, "-m", "pytest", "-n2", "-q", "-p", "no:cacheprovider", "--rootdir=."]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250, env=_environment())
    assert "1 failed, 15 passed" in run.stdout, run.stdout + run.stderr
    assert "crashed while running 'test_1.py::test_it[2]'" in run.stdout


def _environment():
    """Return this process's, less what tells of the pytest-xdist that it runs under."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return {**own, "PYTHONPATH": str(ROOT)}
