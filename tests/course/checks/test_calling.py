"""An exercise's statement says how an answer is called; in a kernel it is so called, with copies of its own."""

from pathlib import Path

import numpy as np
import pytest

from course.checks.calling import call_here
from course.checks.check import _function
from course.checks.exercise import VALUE, Case, Exercise, Observed, asking


def apply_twice(entry, number):
    return entry(number, lambda n: n + 1), entry(number, lambda n: n + 2)


def test_a_driver_may_be_a_function_or_its_text():
    text = "def drive(entry, number):\n    return entry(number, abs)\n"
    by_text = Exercise("apply", lambda: [(-3,)], lambda n: abs(n), call=text, adds=("step",))
    assert call_here(by_text, lambda n, step: step(n), Case((-3,))) == 3
    assert _function(by_text, lambda n, step: step(n))
    assert "apply(-3, step)\ngave 0; expected 3" in _function(by_text, lambda n, step: 0).message
    twice = Exercise("apply", lambda: [(1,)], lambda n: (n + 1, n + 2), call=apply_twice)
    assert _function(twice, lambda n, step: step(n))


@pytest.mark.parametrize("stub", [lambda n, step: None, lambda n, step: ...], ids=["None", "..."])
def test_a_stub_is_not_yet_whatever_the_driver_makes_of_it(stub):
    def careless(entry, number):
        try:
            return entry(number, abs) + 1
        except Exception:
            return 0

    assert _function(Exercise("apply", lambda: [(1,)], lambda n: 2, call=careless), stub).state == "not yet"


def test_files_are_there_while_the_answer_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [Case(("a.txt",), files={"a.txt": b"four"}, truth=4)]
    size = Exercise("size", lambda: cases)
    assert _function(size, lambda path: len(Path(path).read_text()))
    assert "size('a.txt'), a.txt holding 'four',\ngave 5; expected 4" in _function(size, lambda path: 5).message
    assert not list(tmp_path.iterdir())


def test_arrays_become_tensors_of_their_dtype_and_the_question_stays_as_it_was():
    cases = [Case((np.ones(2), [np.zeros(1, np.int64)]))]
    stated = Exercise("kinds", lambda: cases, judge=lambda case, got: None if got else "?", tensors=True)

    def kinds(ones, rest):
        ones += 1
        return str(ones.dtype) == "torch.float64" and str(rest[0].dtype) == "torch.int64"

    assert _function(stated, kinds) and cases[0].arguments[0].tolist() == [1, 1]


def test_what_an_answer_gave_is_read_before_it_is_judged():
    board = Exercise("board", lambda: [()], lambda: np.eye(2), read=np.asarray)
    assert _function(board, lambda: [[1, 0], [0, 1]])
    assert "expected [[1.0, 0.0], [0.0, 1.0]]" in _function(board, lambda: [[1], [2, 3]]).message
    pair = Exercise("pair", lambda: [()], lambda: 3, read=lambda got: got[0], wants="a pair")
    assert "gave 7; expected a pair" in _function(pair, lambda: 7).message


def test_a_kernel_asks_in_its_own_way_where_marks_are_made_against_a_host():
    def against(answer, case):
        asked = []
        return Observed(answer(asked.append), (asked, case.plan))

    cases = [Case((), plan=2)]
    calls = Exercise("calls", lambda: cases, judge=lambda c, got: None if len(got.seen[0]) == c.plan else "two calls")
    here = Exercise("calls", lambda: cases, judge=calls.judge, in_kernel=against)
    assert _function(here, lambda note: [note(1), note(2)])
    assert "gave [None]; two calls" in _function(here, lambda note: [note(1)]).message


def test_questions_are_the_same_each_time_and_others_with_another_seed():
    stated = Exercise("f", asking(lambda draw: ([(0,)], [(int(draw.integers(10**9)),)])), abs)
    once, again = ([case.arguments for case in stated.questions()] for _ in range(2))
    other = [case.arguments for case in stated.questions(np.random.default_rng(99))]
    assert once == again and once[0] == other[0] and once[1] != other[1]


def test_a_statement_has_one_who_decides():
    with pytest.raises(ValueError, match="judge decides alone"):
        Exercise("f", lambda: [], abs, judge=lambda case, got: None)
    assert Exercise("answer", lambda: [()], call=VALUE).question(Case(())) == "answer"
