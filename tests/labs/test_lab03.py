"""Lab 03 holds what it promises: see `grader.selftest.selftest`."""

import pytest

from grader.lab.source import load_lab
from grader.selftest.selftest import selftest_here


@pytest.mark.timeout(600)  # on a machine with much else to do
def test_lab03_is_fit_for_a_class():
    report = selftest_here(load_lab("labs/lab03_game_of_life"), short=True, tell=print)
    assert report, report
    assert report.answers > 60
