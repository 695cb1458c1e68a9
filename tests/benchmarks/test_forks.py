"""Contestants of a quick run: forks of a process that has imported PyTorch."""

import sys
from contextlib import ExitStack, suppress

import psutil
import pytest

from benchmarks.forks import Forks, forks
from benchmarks.places import Places
from benchmarks.process import environment
from tests.benchmarks.holding import hold, one


@pytest.mark.skipif(sys.platform != "linux", reason="each contestant starts by itself on other systems than Linux")
def test_forks_of_a_quick_run_are_contestants_as_all_are(tmp_path):
    note = tmp_path / "child"
    hanging = one("hangs", "hangs", arguments={"note": str(note)}, patience=5)
    others = one("works", "works"), one("dies", "dies"), one("is not there", "is_not_there"), one("forked", "forked")
    two = one("two", "forked", arguments={"threads": 2}, threads=2)
    with forks() as quickly:
        result, _ = hold(Places(tmp_path, {}, quickly), *others, hanging, two, rounds=3)
    assert result.entry("works").samples == (2, 2, 2)
    assert "MemoryError: no room for the board" in result.entry("dies").problem
    assert "AttributeError" in result.entry("is not there").problem
    assert result.entry("hangs").problem.startswith("did not end its run in 5.")
    assert [len(result.entry(name).figures) for name in ("forked", "two")] == [3, 3], result
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(note.read_text())).wait(10)  # TimeoutExpired: it was left behind


def test_what_needs_a_start_of_its_own_is_no_fork(monkeypatch):
    monkeypatch.setattr("benchmarks.forks._begun", lambda environment: pytest.fail("a process was imported into"))
    with ExitStack() as stack:
        for command in (["/bin/true"], [sys.executable, "-c", ""], ["/other/python", "-m", "benchmarks.contestant"]):
            assert Forks(stack).start(command, environment(1), None) is None
