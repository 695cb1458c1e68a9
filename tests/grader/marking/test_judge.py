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
from grader.marking.questions import Answer, SetUpFailed, Stopped, patience
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
        ([ROWS[:90_000], ROWS[:80_000]], r"an array of shape \(90000, 0\), more than 100,000"),
        (np.zeros((1,) * 20), "an array of 20 axes"),
        (10**310, "a whole number of 1030 bits"),
        ({"a": [-(2**127) - 1]}, "a whole number of 128 bits"),
        ([0] * 100_001, "more than 100,000 items"),
        ([[[] for _ in range(400)] for _ in range(400)], "more than 100,000 items"),
        ([np.ones(1)] * 20_000 + [0] * 20_000 + [[0] * 60_000], "more than 100,000 items"),
        ([np.zeros((99_999, 0)), 1], r"an array of shape \(99999, 0\), more than 100,000 items"),
        (2**127, "a whole number of 128 bits; 127 are the most"),
        (np.zeros((1,) * 17), "an array of 17 axes; 16 are the most"),
    ],
)
def test_what_is_too_much_is_named(value, says):
    with pytest.raises(OutOfBounds, match=says):
        bounded(value)


@pytest.mark.parametrize(("depth", "passes"), [(50, True), (51, False), (900, False)])
def test_what_is_nested_deeper_than_anyone_reads_is_too_much(depth, passes):
    value = 1
    for _ in range(depth):
        value = [value]
    if passes:
        assert bounded(value) is value
        return
    with pytest.raises(OutOfBounds, match="more than 50 deep"):
        bounded(value)


@pytest.mark.parametrize(
    "value",
    [None, True, 2**127 - 1, -(2**127), 1e300, "text", (1, [2.0]), {"a": ()}, np.zeros((0, 784)), np.ones((4096, 4096))]
    + [[0] * 100_000, [np.ones(1)] * 100_000, [np.zeros((99_999, 0))], np.ones((1,) * 16)],
    ids=lambda value: type(value).__name__,
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
    monkeypatch.setattr(module, "patience", lambda: 1.0)
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: None if got == "good" else does(case, got))
    exercise = lab.exercises[0]
    case = next(exercise.statement.questions(np.random.default_rng(0)))
    with Judge(lab, UnsafeSandbox) as judge:
        assert judge.complaint(exercise, case, "good") is None
        with monkeypatch.context() as patch, pytest.raises(JudgeFailed, match=says):
            if "longer" in says:  # what comes by itself may come late
                patch.setattr(module, "SECONDS", 2.0)
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


def test_a_judge_has_its_seconds_stretched_as_the_machine_is_busy_and_leaves_no_process(lab, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.1)
    monkeypatch.setattr(module, "patience", lambda: 3.0)
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: str(os.getpid()) if got else time.sleep(2))
    with Judge(lab, UnsafeSandbox) as judge:
        with pytest.raises(JudgeFailed, match="took longer than 0.1 s"):
            judge.complaint(lab.exercises[0], case_of(lab), False)
        monkeypatch.setattr(module, "SECONDS", 60)
        process = int(judge.complaint(lab.exercises[0], case_of(lab), True))
    assert process != os.getpid()
    with pytest.raises(ChildProcessError):
        os.waitpid(process, os.WNOHANG)


@pytest.mark.parametrize("fails", [SetUpFailed("no torch"), Stopped("crashed", "gone"), Answer("raised", text="odd")])
def test_where_the_labs_own_solution_gives_no_value_the_judge_is_at_fault(lab, fails, monkeypatch):
    class Solution:
        def __init__(self, *_):
            pass

        __enter__, __exit__ = lambda self: self, lambda self, *_: None

        def run_cells(self):
            if isinstance(fails, Exception):
                raise fails

        def ask(self, exercise, case):
            return fails

    monkeypatch.setattr(module, "SandboxedSubmission", Solution)
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: got and 1 / 0)
    with Judge(lab, None) as judge, pytest.raises(JudgeFailed, match="ZeroDivisionError"):
        judge.problem(lab.exercises[0], case_of(lab), Answer("value", 3))


def case_of(lab, number=1):
    return list(lab.exercises[0].statement.questions(np.random.default_rng(0)))[number]


@pytest.mark.parametrize(("elements", "says"), [(1000, ""), (1001, ", 1001 elements")])
def test_of_a_large_array_it_is_said_how_many_elements_it_has(lab, elements, says):
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: "too many")
    with Judge(lab, UnsafeSandbox) as judge:
        said = judge.problem(lab.exercises[0], case_of(lab), Answer("value", np.arange(elements)))
    assert said.endswith(f"{says}; too many") and ("elements" in said) is bool(says)


def test_a_judge_holds_nothing_open_of_the_graders(lab):
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: " ".join(sorted(os.listdir("/proc/self/fd"))))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(8)]
    try:
        free = [held.pop(-3), held.pop(-2)]  # where its pipe will be: in the middle of what is open
        for descriptor in free:
            os.close(descriptor)
        with Judge(lab, UnsafeSandbox) as judge:
            told = judge.complaint(lab.exercises[0], case_of(lab), 3).split()
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert {"0", "1", "2"} < set(told) and len(told) == 5, "its pipe, and the folder that it lists"


@pytest.mark.parametrize(("size", "raised"), [(900 << 20, False), (1100 << 20, True)])
def test_a_judge_may_take_a_gigabyte_beside_what_the_grader_has(lab, size, raised):
    lab = with_double(lab, Json(), expected=None, judge=lambda case, got: np.empty(got, np.uint8).fill and None)
    with Judge(lab, UnsafeSandbox) as judge:
        if not raised:
            assert judge.complaint(lab.exercises[0], case_of(lab), size) is None
            return
        with pytest.raises(JudgeFailed, match="MemoryError"):
            judge.complaint(lab.exercises[0], case_of(lab), size)


def test_a_failing_judge_is_told_by_the_last_line_of_its_own_folder(lab, tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    names = {}
    for file, text in {
        "inner.py": "import json\n\n\ndef inner(got):\n    return json.loads(got)\n",
        "broken.py": "def judge(case, got):\n    return between(got)\n\n\ndef between(got):\n    return inner(got)\n",
    }.items():
        (place / file).write_text(text)
        exec(compile(text, place / file, "exec"), names)
    lab = replace(with_double(lab, Json(), expected=None, judge=names["judge"]), folder=place)
    with Judge(lab, UnsafeSandbox) as judge:
        with pytest.raises(JudgeFailed, match=r"raised JSONDecodeError: .* \(inner.py, line 5\)$"):
            judge.complaint(lab.exercises[0], case_of(lab), "{")


@pytest.mark.parametrize(
    ("load", "processors", "stretched"),
    [(0.5, 2, 1.0), (6.0, 2, 3.0), (100.0, 2, 4.0), (2.5, None, 2.5), (3.0, 1, 3.0)],
)
def test_deadlines_are_stretched_as_the_machine_is_busy_one_to_four_times(load, processors, stretched, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 50.0, 60.0))
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert patience() == stretched
    monkeypatch.delattr(os, "getloadavg")
    assert patience() == 1.0, "where the system doesn't say"
