"""The checks themselves: a right answer passes, a wrong one gets its smallest counterexample, a stub is "not yet"."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import strategies

from course.checks import Exercise, Verdict, find_exercise, same
from course.checks import check as check_function
from course.checks.check import Attempts, _function, _one_case, _value
from course.checks.compare import equal, show
from course.checks.shrink import smallest

LABS = Path(__file__).parents[3] / "labs"


def max_of(numbers):
    return max(numbers, default=0)


double = Exercise("double", lambda: [(n,) for n in range(4)], expected=lambda n: 2 * n, hint="Twice.")


def test_a_right_answer_passes_and_a_wrong_one_gets_the_first_input_that_shows_it():
    assert _function(double, lambda n: n + n)
    first = _function(double, lambda n: n * n)
    assert first.state == "wrong" and "double(1)" in first.message and "expected 2" in first.message


def drawn_lists():
    return strategies.tuples(strategies.lists(strategies.integers(0, 100), max_size=8))


longest = Exercise("longest", lambda: [([],), (list(range(40)),)], expected=max_of, inputs=drawn_lists)

SHAPES = {
    "a float": lambda x: x,
    "in a list": lambda x: [1.0, x],
    "in a dict": lambda x: {"a": (x,)},
    "an array": lambda x: np.array([1.0, x]),
    "a tensor": lambda x: torch.tensor([1.0, x], dtype=torch.float64),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6, -3.0])
def test_floats_are_equal_to_a_millionth_and_no_further(shape, scale):
    make = SHAPES[shape]
    for compare in (same, equal):
        for right in (1.0, 1 + 1e-7, 1 - 1e-7):
            assert compare(make(scale * right), make(scale)), (compare, right)
        for wrong in (1 + 3e-6, 1 - 3e-6, 1 + 1e-3, 1 - 1e-3, -1.0, 0.0, float("nan"), float("inf")):
            assert not compare(make(scale * wrong), make(scale)), (compare, wrong)


def test_an_answer_a_thousandth_off_is_wrong_unless_the_exercise_says_so():
    half = Exercise("half", lambda: [(3.0,)], expected=lambda x: x / 2)
    assert _one_case(half, lambda x: x / 2 * (1 + 1e-8), (3.0,), first=False) is None
    assert _one_case(half, lambda x: x / 2 * (1 + 1e-3), (3.0,), first=False).state == "wrong"
    lenient = Exercise("half", lambda: [(3.0,)], expected=lambda x: x / 2, tolerance=1e-2)
    assert _one_case(lenient, lambda x: x / 2 * (1 + 1e-3), (3.0,), first=False) is None


@pytest.mark.parametrize("empty", [None, ...])
def test_a_stub_is_not_yet_and_raises_nothing(empty):
    for exercise in (double, longest):
        verdict = _function(exercise, lambda _: empty)
        assert verdict.state == "not yet" and not verdict


def test_an_answer_that_changes_its_input_does_not_change_the_question():
    total = Exercise("total", lambda: [([1, 2],)], expected=sum)
    question = ([1, 2],)

    def greedy(numbers):
        numbers.append(10)
        return sum(numbers)

    assert "gave 13; expected 3" in _one_case(total, greedy, question, first=True).message
    assert question == ([1, 2],)


def test_a_value_is_checked_without_giving_the_answer_away():
    answer = Exercise("total", lambda: [()], expected=lambda: 238)
    assert _value(answer, 238) and _value(answer, None).state == "not yet"
    wrong = _value(answer, 234)
    assert wrong.state == "wrong" and "238" not in wrong.message


def test_a_counterexample_is_made_as_small_as_can_be():
    # wrong on every list of two or more: the fixed case has forty numbers, the smallest list has two
    for _ in range(2):  # the same one each time
        verdict = _function(longest, lambda numbers: numbers[0] if numbers else 0)
        assert "longest([0, 1])" in verdict.message and "gave 0; expected 1" in verdict.message


def test_an_answer_that_passes_the_cases_is_tried_on_drawn_inputs():
    verdict = _function(longest, lambda numbers: max(numbers, default=0) if len(numbers) != 3 else 0)
    assert verdict.state == "wrong" and "expected" in verdict.message
    assert _function(longest, lambda numbers: max(numbers, default=0))


def test_an_answer_that_is_wrong_by_turns_is_wrong():
    turns = iter(range(10**6))
    assert _function(longest, lambda numbers: max_of(numbers) + (next(turns) % 7 == 6)).state == "wrong"


def test_a_slow_answer_is_waited_for_no_longer_than_said():
    calls = []

    def slow(arguments):
        calls.append(arguments)

    smallest(drawn_lists(), slow, seconds=0.0)
    assert len(calls) <= 1


def test_looking_for_a_smaller_one_prints_nothing_and_leaves_no_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def talkative(numbers):
        if len(numbers) < 40:
            print("here", numbers)
        return 0

    assert _function(longest, talkative).state == "wrong"
    assert capsys.readouterr().out.count("here") <= 2 and not list(tmp_path.iterdir())


def test_an_interrupt_stops_a_check():
    def interrupted(numbers):
        if numbers:
            raise KeyboardInterrupt
        return 0

    with pytest.raises(KeyboardInterrupt):
        _function(longest, interrupted)


def test_a_hint_comes_with_the_second_wrong_answer_and_not_before():
    attempts = Attempts()

    def matrix_bytes(rows, columns):
        return rows * columns

    first, second = (check_function(matrix_bytes, attempts=attempts) for _ in range(2))
    assert first.state == second.state == "wrong"
    assert "Hint:" not in first.message and "Hint: a float32 number has 4 bytes" in second.message
    assert check_function(lambda rows, columns: None, "matrix_bytes", attempts).state == "not yet"
    assert "Hint" not in check_function(matrix_bytes, attempts=Attempts()).message


def test_an_unknown_exercise_is_named_with_its_neighbours():
    with pytest.raises(ValueError, match="no exercise 'nothing_like_it'"):
        find_exercise("nothing_like_it")
    for verdict, words in (
        (check_function(3), "needs its exercise's name"),
        (check_function(max_of, "nothing_like_it"), "no exercise 'nothing_like_it'"),
    ):
        assert verdict.state == "not yet" and words in verdict.message  # and *Run All* goes on


def test_an_exercise_in_plain_numpy_is_checked_without_torch():
    program = (
        "import sys\nfrom course import check\n"
        "def next_generation(board):\n    return board\n"
        "assert check(next_generation).state == 'wrong'\nassert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, cwd=LABS / "lab03_game_of_life").returncode == 0


@pytest.mark.parametrize(
    ("got", "wanted", "equal"),
    [
        (torch.ones(2), torch.ones(2), True),
        (torch.ones(2), torch.ones(2, 1), False),
        (np.array([1, 2]), torch.tensor([1, 2]), True),
        (torch.tensor(3), 3, True),
        (torch.ones(1), 1, False),
        (0.1 + 0.2, 0.3, True),
        (float("nan"), float("nan"), True),
        (1, True, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], [1, 2, 3], False),
        ("1", 1, False),
        # whole numbers exactly, floats nearly
        (2_000_001, 2_000_000, False),  # a byte above two megabytes
        ([2**60 + 1], [2**60], False),
        (np.int64(2_000_001), 2_000_000, False),
        (torch.tensor([2_000_001]), torch.tensor([2_000_000]), False),
        (2_000_000, 2_000_000.0000001, True),
        (2_000_001.0, 2_000_000, True),  # a float is as near as floats are
        (10**310, 1.5, False),
        (1.5, -(10**310), False),
        (10**310, 10**310, True),
        (float("inf"), 10**310, False),
    ],
)
def test_equal_means_equal_shapes_equal_ints_and_floats_that_are_nearly_so(got, wanted, equal):
    assert same(got, wanted) is equal


def test_a_verdict_shows_itself_escaped():
    verdict = Verdict("wrong", "<script>")
    assert "<script>" not in verdict._repr_mimebundle_()["text/html"] and repr(verdict) == "✕ <script>"


@pytest.mark.parametrize(
    "shape", [(), (0,), (7,), (299,), (5000,), (2, 3), (40, 40), (1, 2000), (2000, 1), (0, 5), (5, 0), (9, 9, 9)]
)
def test_an_array_is_shown_as_it_begins(shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    whole = str(array.tolist())
    assert show(array) == show(torch.from_numpy(array)) == (whole if len(whole) <= 300 else whole[:300] + " …")


def test_an_array_of_three_million_rows_of_nothing_is_shown_at_once():
    started = time.process_time()
    assert show(np.zeros((3_000_000, 0))).startswith("[[], [], [")
    assert show(np.broadcast_to(1, (1 << 40, 1 << 10))).startswith("[[1, 1, ")
    assert time.process_time() - started < 1


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no")


def test_what_cannot_be_shown_is_said_to_be_so():
    nested = []
    for _ in range(5000):
        nested = [nested]
    assert show(10**5000).startswith("int that can't be shown (ValueError")
    assert "RecursionError" in show(nested)
    assert show(Unshowable()) == "Unshowable that can't be shown (RuntimeError: no)"
