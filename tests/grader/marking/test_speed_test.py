"""A race: won by work that is less, however it is arranged and whatever else the machine does."""

import os
import subprocess
import sys

import numpy as np
import pytest

from grader.lab.spec import Case, Exercise, Lab, Marking, Race
from grader.marking.questions import Answer, Stopped
from grader.marking.result_types import Integer
from grader.marking.speed_test import WrongInRace, race
from grader.sandbox import Sandbox
from tests.helpers.sandboxes import need_sandboxes


class Racing:
    """Stands for one side, whose laps take these seconds, one after another; `made`: what each was made of."""

    made: list

    def __init__(self, lab, cells, sandbox, seconds):
        self.laps, self.answer = self.sides[cells[0]]
        self.made.append((cells, lab.files, seconds))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run_cells(self):
        pass

    def ask(self, exercise, case):
        answer = self.answer(*case.arguments)
        return answer if isinstance(answer, Answer) else Answer("value", answer, seconds=self.laps.pop(0))


def ran(monkeypatch, mine, reference, answer=lambda n: n, wanted=lambda n: n, by=None, tries=2, **stated):
    ratio = Race("reference", times=4, chain=lambda draw, n: (n + 1,), rounds=2, tries=tries)
    exercise = Marking(Exercise("fast", list, **(stated or {"expected": wanted})), Integer(), race=ratio, seconds=5.0)
    Racing.sides, Racing.made = {"mine": (list(mine), answer), "reference": (list(reference), wanted)}, []
    monkeypatch.setattr("grader.marking.speed_test.SandboxedSubmission", Racing)
    lab, draw = Lab("lab", (), files=("board",)), np.random.default_rng(0)
    try:
        return race(lab, ["mine"], exercise, Case((0,)), None, draw, by)
    except WrongInRace as wrong:
        return f"wrong: {wrong}"


def test_each_sides_quickest_lap_counts_and_there_is_a_second_try(monkeypatch):
    assert ran(monkeypatch, [9, 0.25], [1, 9, 9, 9]) is None, "four times exactly"
    assert ran(monkeypatch, [9, 9, 9, 0.25], [9] * 5 + [1]) is None
    told = ran(monkeypatch, [0.5] * 4, [1] + [9] * 5)
    assert told == "it is 2 times as fast as the reference; 4 times is asked for", "of all laps of the reference"
    told = ran(monkeypatch, [0.5, 0.75, 0.5, 0.75], [1, 9] * 3)
    assert told == "it is 2 times as fast as the reference; 4 times is asked for"
    sides = [(cells, files) for cells, files, _ in Racing.made]
    assert sides == [(["reference"], ()), (["mine"], ("board",))] * 2 + [(["reference"], ())]
    assert {seconds for *_, seconds in Racing.made} == {2 * 5.0}, "as long as the questions of a race may take"


@pytest.mark.parametrize(("off", "told"), [(1e-8, None), (1e-3, "wrong: in the race, fast(0) is wrong: expected 0.3")])
def test_a_race_is_lost_by_an_answer_a_thousandth_off(monkeypatch, off, told):
    def third(n):
        return n + 1 / 3

    lost = ran(monkeypatch, [0.1] * 4, [1] * 6, lambda n: third(n) * (1 + off), third)
    assert lost == told if told is None else lost.startswith(told)


def test_what_is_no_value_or_has_a_judge_is_judged(monkeypatch):
    class Judge:
        def problem(self, exercise, case, got):
            return None if got.value == 7 else f"{got.kind} {got.text}"

    def lost(answer, **stated):
        return ran(monkeypatch, [0.1] * 4, [1] * 6, answer, by=Judge(), **stated)

    assert lost(lambda n: Answer("raised", text="KeyError")) == "wrong: in the race, raised KeyError"
    for stated in ({"judge": lambda case, got: None}, {"accepts": lambda got, n: True}):
        assert lost(lambda n: 7, **stated) is None
        assert lost(lambda n: 8, **stated).startswith("wrong: in the race, value")
    assert lost(lambda n: n if n == 0 else -1).startswith("wrong: in the race, fast(1) is wrong"), "in a later lap"
    assert lost(lambda n: n + 1) == "wrong: in the race, fast(0) is wrong: expected 0"


def test_a_reference_that_gives_no_value_or_ends_is_the_labs_mistake(monkeypatch):
    def stops(n):
        raise Stopped("crashed", "gone")

    with pytest.raises(RuntimeError, match="the race's reference stopped: gone"):
        ran(monkeypatch, [1] * 4, [1] * 6, wanted=stops)
    with pytest.raises(RuntimeError, match="the race's reference gave no value: raised, KeyError"):
        ran(monkeypatch, [1] * 4, [1] * 6, wanted=lambda n: Answer("raised", text="KeyError"))


#: `busy(share)`: that share of the reference's work; it is counted in processor seconds, not in what a clock says.
BUSY = """
import ctypes, os, threading, time
def busy(share):
    until = time.process_time() + 0.06 * share
    while time.process_time() < until: pass
"""
#: name -> a cell that defines `fast`; each does half of the reference's work, and three times as fast is asked for.
HALF = {
    "as it is": "def fast(n):\n    busy(0.5)\n    return n",
    "side by side, each busy when the answer is sent": """
def fast(n):
    ends = [os.pipe() for _ in range(5)]
    for _, done in ends:
        if os.fork() == 0:
            busy(0.1)
            os.write(done, b"!")
            busy(2.0)
            os._exit(0)
    for end, done in ends:
        os.read(end, 1)
        os.close(end), os.close(done)
    return n""",
}


def in_a_race(cell, tries):
    ratio = Race(
        f"{BUSY}\ndef fast(n):\n    busy(1)\n    return n", 3.0, lambda draw, n: (n + 1,), rounds=2, tries=tries
    )
    exercise = Marking(Exercise("fast", list, lambda n: n), Integer(), race=ratio, seconds=20.0)
    lab = Lab("lab", (exercise,), imports=())
    return race(lab, [BUSY + cell], exercise, Case((0,)), Sandbox, np.random.default_rng(0), None)


@pytest.fixture
def counted():
    need_sandboxes()
    with Sandbox().start("import os; os.read(REQUESTS, 1)") as running:
        if running.processor_seconds() is None:
            pytest.skip("NOT TESTED HERE: no control group counts processor time for us on this machine")


@pytest.mark.parametrize("name", HALF)
def test_half_of_the_work_is_twice_as_fast_however_it_is_arranged(name, counted):
    assert "3 times is asked for" in in_a_race(HALF[name], tries=1)


def test_a_fifth_of_the_work_wins_on_a_machine_that_does_other_things(counted):
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        assert in_a_race("def fast(n):\n    busy(0.2)\n    return n", tries=3) is None
    finally:
        for other in others:
            other.kill()
            other.wait()
