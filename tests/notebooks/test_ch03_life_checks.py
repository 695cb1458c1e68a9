"""Chapter 03's exercises: right answers pass, each plausible wrong one gets a small counterexample."""

import torch

from course import life
from course.checks import check
from tests.notebooks.checked import noticed

MOVES = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]


def count(board, moves=MOVES):
    return sum(board.roll(move, (0, 1)) for move in moves)


def without_wrap(board):
    return count(torch.nn.functional.pad(board, (1, 1, 1, 1)))[1:-1, 1:-1]


def in_place(board):
    board[:] = count(board)
    return board + board


def repeat(board, limit, later=0):
    cycle = life.find_cycle(board, limit)
    return (cycle.start + later, cycle.period) if cycle else ()


WRONG = [
    ("count_neighbours", lambda board: count(board, MOVES[:-1])),
    ("count_neighbours", lambda board: count(board) + board),  # the cell itself counted
    ("count_neighbours", without_wrap),
    ("count_neighbours", in_place),
    ("count_neighbours", lambda board: count(board, [move for move in MOVES if 0 in move])),  # no diagonals
    ("highlife_step", life.step),  # Conway's
    ("highlife_step", lambda board: life.step(board, "B36/S236")),
    ("highlife_step", lambda board: life.step(board, "B36/S23", wrap=False)),
    ("first_repeat", lambda board, limit: repeat(board, limit, later=1)),
    ("first_repeat", lambda board, limit: repeat(board, min(limit, 4))),
    ("first_repeat", lambda board, limit: repeat(board, limit - 1)),
    ("first_repeat", lambda board, limit: repeat(board, limit + 1)),
    ("first_repeat", lambda board, limit: (0, 1)),
    ("first_repeat", lambda board, limit: repeat(board, limit)[::-1]),
]


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)


def test_other_right_answers_pass():
    assert check(count, "count_neighbours") and check(repeat, "first_repeat")
    assert check(lambda board: life.step(board, "B36/S23"), "highlife_step")


def test_the_right_number_passes_and_another_does_not():
    assert check(130, "diehard_generation")
    assert check(129, "diehard_generation").state == "wrong"
    assert check(None, "diehard_generation").state == "not yet"


def test_no_counterexample_of_highlife_has_more_than_sixteen_cells():
    for name, answer in WRONG:
        if name == "highlife_step":
            assert check(answer, name).message.count("0") + check(answer, name).message.count("1") <= 2 * 16 + 4


def test_a_counterexample_is_small_and_says_what_was_expected():
    for name, answer in WRONG:
        message = check(answer, name).message
        assert "expected" in message and len(message) < 800, name
