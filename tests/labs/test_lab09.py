"""Lab 09 holds what it promises: oracles against other ways to know, lives that end as planned, a record not forged."""

import itertools
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from course.checks import check
from course.checks.discovery import load_part
from course.checks.exercise import Observed
from tests.labs.jobs import HONEST
from tests.labs.solved import solved

LAB = Path(__file__).parents[2] / "labs/lab09_beyond_one_machine"
cases, driver, machine, oracles, strategies = (
    load_part(LAB, name) for name in ("cases", "driver", "machine", "oracles", "strategies")
)


@pytest.fixture(scope="module")
def answers():
    """What the lab's solutions define."""
    return solved(LAB)


# ---- the oracles -----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(strategies.placings())
def test_the_fewest_bytes_are_those_of_all_ways_to_place_the_tasks(case):
    lies, slots = case
    ways = itertools.product(range(len(slots)), repeat=len(lies))
    legal = [way for way in ways if all(way.count(node) <= many for node, many in enumerate(slots))]
    fewest = min(
        sum(sum(one.values()) - one.get(node, 0) for one, node in zip(lies, way, strict=True)) for way in legal
    )
    assert oracles.fewest_bytes(lies, slots) == fewest


@settings(max_examples=40)
@given(strategies.schedules())
def test_no_schedule_ends_before_the_bound_and_none_of_all_before_the_best(case):
    seconds, lies, slots, speed = case.arguments
    places = [node for node, many in enumerate(slots) for _ in range(many)]

    def end(way):
        ends = [0.0] * len(places)
        for task, at in enumerate(way):
            ends[at] += oracles.took(seconds[task], lies[task], speed, places[at])
        return max(ends)

    best = min(map(end, itertools.product(range(len(places)), repeat=len(seconds))))
    assert oracles.best_end(*case.arguments) == pytest.approx(best)
    assert oracles.bound_end(*case.arguments) <= best * (1 + 1e-9)
    assert best <= oracles.greedy_end(*case.arguments) * (1 + 1e-9)


def test_a_move_is_timed_by_the_link_in_its_direction():
    speed = np.array([[0.0, 2.0], [8.0, 0.0]])
    assert [oracles.took(1.0, {0: 4, 1: 16}, speed, node) for node in (0, 1)] == [1 + 16 / 8, 1 + 4 / 2]


def test_the_rule_for_many_tasks_is_near_the_bound_on_what_is_drawn():
    for seed in range(5):
        many = [one.arguments for one in cases.schedules(np.random.default_rng(seed)) if one.group == "many"]
        assert max(oracles.greedy_end(*one) / oracles.bound_end(*one) for one in many) < 2.5


@settings(max_examples=40)
@given(strategies.choices())
def test_every_choice_tried_is_the_one_reckoned(answers, case):
    assert oracles.tried_choices(*case) == answers["choose"](*case)


# ---- the job ---------------------------------------------------------------------------------------------------------


def in_a_notebook(answer, case):
    here = machine.Machine(case.plan)
    return Observed(driver.drive_job(answer, lambda: nullcontext(here.ask), *case.arguments), here.record)


def test_a_folder_is_put_back_whole_with_what_lies_in_folders_of_it(answers):
    def job(folder, steps, every, first, step):
        here = os.path.join(folder, f"{len(os.listdir(folder))}")
        for name in os.listdir(folder):
            os.rename(os.path.join(folder, name), here)  # a folder in the folder, with another name in each life
        os.makedirs(here, exist_ok=True)
        return answers["job"](here, steps, every, first, step)

    case = cases.life("killed", 6, 2, [("kill", 3), ("back", 5, 2), ("back", 5, 1)], 1)
    got = in_a_notebook(job, case)
    assert oracles.judge_job(case, got) is None
    began = [next((row[2] for row in got.seen if row[:2] == ["step", life]), None) for life in range(1, 6)]
    assert began == [0, 2, 2, 0, None]


def test_a_job_that_does_not_hear_the_warning_is_told_what_it_lost():
    def job(folder, steps, every, first, step):
        state = first
        for number in range(steps):
            state = step(number, state)
        return state

    case = cases.life("warned", 4, 9, [("term", 1)], 1)
    told = oracles.judge_job(case, in_a_notebook(job, case))
    assert told.startswith("life 2 began with step 0; life 1 was warned in step 1, so a step from 1 to 2 is due")


def drawn(group):
    return [case for case in cases.lives(np.random.default_rng(3)) if case.group == group][-1]


@pytest.mark.parametrize("group", ["killed", "torn", "warned"])
def test_a_job_is_ended_as_planned(answers, group):
    case = drawn(group)
    here = in_a_notebook(answers["job"], case)
    assert oracles.judge_job(case, here) is None
    ends = [row[0] for row in here.seen if row[0] in ("kill", "tear", "term")]
    assert ends == [end[0] for end in case.plan["ends"]]
    assert len(here.gave) == len(ends) + 2  # one runs to its end, and one comes after it


def test_what_is_kept_elsewhere_is_seen(answers, tmp_path):
    def job(folder, steps, every, first, step):
        return answers["job"](str(tmp_path), steps, every, first, step)

    case = cases.life("killed", 4, 2, [("kill", 2)], 1)
    assert "outside of the folder" in oracles.judge_job(case, in_a_notebook(job, case))


def test_a_process_that_outlives_its_job_is_seen():
    def job(folder, steps, every, first, step):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        state = first
        for number in range(steps):
            state = step(number, state)
        return state

    case = cases.life("killed", 2, 1, [], 1)
    assert "outside of the folder" in oracles.judge_job(case, in_a_notebook(job, case))


def test_a_life_that_hangs_is_ended_with_its_process(monkeypatch):
    pids = []
    fork = os.fork
    monkeypatch.setattr(driver, "PATIENCE", 0.2)
    monkeypatch.setattr(driver.os, "fork", lambda: pids.append(fork()) or pids[-1])

    def job(folder, steps, every, first, step):
        while True:
            pass

    with pytest.raises(TimeoutError, match="in life 1: it asked for no step for 0.2 s"):
        in_a_notebook(job, cases.life("killed", 1, 1, [], 1))
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_whole_numbers_of_numpy_and_a_job_that_ignores_its_children_are_right_in_a_notebook():
    names = {}
    exec(f"import json, os, signal\nimport numpy as np\n{HONEST['numbers of numpy, the end of a script']}", names)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        case = cases.life("killed", 4, 2, [("kill", 3)], 1)
        assert oracles.judge_job(case, in_a_notebook(names["job"], case)) is None
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_what_is_no_whole_number_is_told_as_what_it_is():
    case = cases.life("killed", 1, 1, [], 1)
    values = {"a float, 1.5": 1.5, "a bool, True": True, r"a list, \[1\]": [1], "a object$": object()}
    for words, value in values.items():
        with pytest.raises(RuntimeError, match=f"in life 1: TypeError: a whole number is asked for, not {words}"):
            in_a_notebook(lambda folder, steps, every, first, step, value=value: value, case)


# ---- the checks ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_counterexample_tells_the_life_the_step_and_what_is_enough(answers, monkeypatch):
    monkeypatch.chdir(LAB)

    def job(folder, steps, every, first, step):
        state = first
        for number in range(steps):
            state = step(number, state)
        open(os.path.join(folder, "done"), "w").close()
        return state

    told = {
        "job": job,
        "near_data": lambda lies, slots: [0] * len(lies),
        "schedule": lambda seconds, lies, slots, speed: [(0, 0)] * len(lies),
    }
    told = {name: check(wrong, name).message for name, wrong in told.items()}
    assert "life 2 came after the job was done, and did steps again" in told["job"]
    assert "bytes move; 0 are enough" in told["near_data"]
    assert "the best one after" in told["schedule"]
