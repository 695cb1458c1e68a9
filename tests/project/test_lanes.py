"""Tests are shared out by files that exist, the longest first, and a file's tests stay together unless it says so."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.lanes import APART, LONGEST, Lanes, longest_first

ROOT = Path(__file__).resolve().parents[2]


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
