"""A student's value, whatever it is, costs the student: the grader stays quick, small and able to mark it."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from grader.marking import judge as module
from grader.marking.bounds import OutOfBounds, bounded
from grader.marking.judge import Judge, JudgeFailed
from grader.marking.mark import mark_submission
from grader.marking.questions import Answer
from grader.marking.result_types import Array, Json
from grader.sandbox.unsafe import UnsafeSandbox
from tests.helpers.small_lab import cells_of, notebook, write_small_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return write_small_lab(tmp_path_factory.mktemp("labs"))


def with_double(lab, evidence, **changes):
    stated = replace(lab.exercises[0].statement, **changes)
    return replace(lab, exercises=(replace(lab.exercises[0], statement=stated, evidence=evidence),))


def mark(lab, answer):
    notebook_ = notebook(cells_of(lab, {"double": f"def double(values):\n    return {answer}"}))
    return mark_submission(lab, notebook_, b"s" * 32, UnsafeSandbox).exercise("double")


ROWS = np.zeros((3_000_000, 0), np.uint8)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (ROWS, r"an array of shape \(3000000, 0\)"),
        ([ROWS[:90_000], ROWS[:90_000]], r"more than 100,000"),
        (np.zeros((1,) * 20), "an array of 20 axes"),
        (10**310, "a whole number of 1030 bits"),
        ({"a": [-(2**127) - 1]}, "a whole number of 128 bits"),
        ([0] * 100_001, "more than 100,000 items"),
        ([[[] for _ in range(400)] for _ in range(400)], "more than 100,000 items"),
    ],
)
def test_what_is_too_much_is_named(value, says):
    with pytest.raises(OutOfBounds, match=says):
        bounded(value)


def test_what_is_nested_deeper_than_anyone_reads_is_too_much():
    value = None
    for _ in range(900):
        value = [value]
    with pytest.raises(OutOfBounds, match="more than 50 deep"):
        bounded(value)


@pytest.mark.parametrize(
    "value", [None, True, 2**127 - 1, 1e300, "text", (1, [2.0]), {"a": ()}, np.zeros((0, 784)), np.ones((4096, 4096))]
)
def test_what_an_honest_answer_gives_passes(value):
    assert bounded(value) is value


def test_an_empty_array_of_three_million_rows_is_a_wrong_answer_and_takes_no_time(lab):
    started = time.process_time()
    found = mark(with_double(lab, Array("uint8", (None, None))), "np.zeros((3_000_000, 0), np.uint8)")
    assert (found.state, found.score) == ("graded", 0)
    assert "gave an array of shape (3000000, 0), " in found.reason
    assert "where an array of uint8, shape (any, any) is asked for" in found.reason
    assert time.process_time() - started < 10


@pytest.mark.parametrize("number", ["10 ** 310", "-10 ** 310", "[1, 10 ** 400]", "{'a': 10 ** 310}"])
def test_a_number_that_no_float_holds_is_a_wrong_answer(lab, number):
    found = mark(with_double(lab, Json(), expected=lambda values: 1.5), number)
    assert (found.state, found.score) == ("graded", 0)
    assert "a whole number of 1" in found.reason


def test_a_value_at_which_the_judge_fails_is_a_wrong_answer_where_the_labs_own_is_judged(lab):
    def judge(case, got):
        return None if got["twice"] == [2 * int(value) for value in case.arguments[0]] else "expected twice"

    lab = with_double(lab, Json(), expected=None, judge=judge)
    cells = [
        replace(c, solution="def double(values):\n    return {'twice': (2 * values).tolist()}")
        if c.exercise == "double" and c.role == "exercise"
        else c
        for c in lab.source.cells
    ]
    lab = replace(lab, source=replace(lab.source, cells=type(lab.source.cells)(cells)))
    found = mark(lab, "{'thrice': 3}")
    assert (found.state, found.score) == ("graded", 0)
    assert "gave {'thrice': 3}; judging it raised KeyError: 'twice'" in found.reason
    assert mark(lab, "{'twice': (2 * values).tolist()}").score == 3


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (lambda case, got: [bytes(1 << 24) for _ in range(1000)] and None, "raised MemoryError"),
        (lambda case, got: time.sleep(3600), "took longer than"),
        (lambda case, got: os._exit(3), "ended the process"),
        (lambda case, got: 1 / 0, "raised ZeroDivisionError"),
        (lambda case, got: object(), "gave an object where a sentence or None was due"),
    ],
)
def test_a_judge_that_runs_away_is_stopped_and_the_next_question_is_judged(lab, does, says, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 2.0)
    monkeypatch.setattr(module, "patience", lambda: 1.0)
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: None if got == "good" else does(case, got))
    exercise = lab.exercises[0]
    case = next(exercise.statement.questions(np.random.default_rng(0)))
    with Judge(lab, UnsafeSandbox) as judge:
        assert judge.complaint(exercise, case, "good") is None
        with pytest.raises(JudgeFailed, match=says):
            judge.complaint(exercise, case, "bad")
        assert judge.complaint(exercise, case, "good") is None


def test_a_judge_hears_of_a_value_as_it_was_and_cannot_change_the_case(lab):
    def judge(case, got):
        case.arguments[0][:] = 0
        return f"got {got!r}"

    lab = with_double(lab, Json(), expected=None, judge=judge)
    exercise = lab.exercises[0]
    case = list(exercise.statement.questions(np.random.default_rng(0)))[1]
    with Judge(lab, UnsafeSandbox) as one:
        said = one.problem(exercise, case, Answer("value", {"a": (1, 2)}))
    assert said == "double([1]) gave {'a': (1, 2)}; got {'a': (1, 2)}"
