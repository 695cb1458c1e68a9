"""A lap tells whether an answer is right before it tells how fast it is, and no answer stops the notebook."""

import numpy as np
import pytest

from course.checks import lap

BOARDS = [(np.arange(6).reshape(2, 3),), (np.arange(40).reshape(5, 8),)]


def doubled(board):
    return board * 2


def one_by_one(board):
    return np.array([[2 * int(cell) for cell in row] for row in board])


def test_a_right_answer_is_told_a_ratio():
    verdict = lap(one_by_one, doubled, BOARDS, repeats=2)
    assert verdict.state == "passed" and "one_by_one is right, and" in verdict.message


@pytest.mark.parametrize("nothing", [..., None])
def test_a_stub_is_not_yet(nothing):
    assert lap(lambda board: nothing, doubled, BOARDS).state == "not yet"


def wrong_on_the_last(board):
    return board * 2 + (board == 39)


def raising(board):
    raise IndexError("row 7")


def in_place(board):
    board *= 2
    return board[:, :-1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [(wrong_on_the_last, "is wrong: expected"), (raising, "it raised IndexError: row 7"), (in_place, "is wrong")],
)
def test_a_wrong_answer_is_told_so_and_no_ratio(answer, said):
    verdict = lap(answer, doubled, BOARDS, repeats=1)
    assert verdict.state == "wrong" and said in verdict.message and "times as fast" not in verdict.message


def test_an_answer_that_changes_its_argument_changes_a_copy():
    before = [board.copy() for (board,) in BOARDS]

    def right_in_place(board):
        board *= 2
        return board

    assert lap(right_in_place, doubled, BOARDS, repeats=1).state == "passed"
    assert all(np.array_equal(now, then) for (now,), then in zip(BOARDS, before, strict=True))


def test_what_a_judge_finds_is_told():
    assert "odd" in lap(doubled, doubled, BOARDS, wrong=lambda count: "that is odd").message
    assert lap(doubled, one_by_one, BOARDS, wrong=lambda count: None, repeats=1).state == "passed"
