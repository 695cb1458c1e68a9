"""Chapter 03's exercises: right answers pass, each plausible wrong one gets a small counterexample."""

import pytest
import torch

from course import life
from course.checks import check

MOVES = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]


def named(name):
    def wrap(function):
        function.__name__ = name
        return function

    return wrap


@named("count_neighbours")
def count(board):
    return sum(board.roll(move, (0, 1)) for move in MOVES)


@named("highlife_step")
def highlife(board):
    return life.step(board, "B36/S23")


@named("first_repeat")
def repeat(board, limit):
    found = life.find_cycle(board, limit)
    return (found.start, found.period) if found else ()


@pytest.mark.parametrize("answer", [count, highlife, repeat])
def test_a_right_answer_passes(answer):
    assert check(answer)


def test_the_right_number_passes_and_another_does_not():
    assert check(130, "diehard_generation")
    assert check(129, "diehard_generation").state == "wrong"
    assert check(None, "diehard_generation").state == "not yet"


def flat(board):
    padded = torch.nn.functional.pad(board, (1, 1, 1, 1))
    return sum(padded.roll(move, (0, 1)) for move in MOVES)[1:-1, 1:-1]


def in_place(board):
    board[:] = sum(board.roll(move, (0, 1)) for move in MOVES)
    return board + board


def late(board, limit):
    found = repeat(board, limit)
    return (found[0] + 1, found[1]) if found else ()


def only_short(board, limit):
    found = life.find_cycle(board, min(limit, 4))
    return (found.start, found.period) if found else ()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("count_neighbours", lambda board: sum(board.roll(move, (0, 1)) for move in MOVES[:-1])),  # one missing
        ("count_neighbours", lambda board: count(board) + board),  # the cell itself counted
        ("count_neighbours", flat),  # the wrap lost
        ("count_neighbours", in_place),
        ("count_neighbours", lambda board: sum(board.roll(m, (0, 1)) for m in MOVES if 0 in m)),  # no diagonals
        ("highlife_step", life.step),  # Conway's
        ("highlife_step", lambda board: life.step(board, "B36/S236")),
        ("highlife_step", lambda board: life.step(board, "B36/S23", wrap=False)),
        ("first_repeat", late),
        ("first_repeat", only_short),
        ("first_repeat", lambda board, limit: (0, 1)),
        ("first_repeat", lambda board, limit: repeat(board, limit)[::-1]),
    ],
)
def test_a_plausible_wrong_answer_is_noticed(name, wrong):
    verdict = check(wrong, name)
    assert verdict.state == "wrong" and "expected" in verdict.message and len(verdict.message) < 800


def test_a_stub_is_not_yet_an_answer():
    assert check(named("count_neighbours")(lambda board: None)).state == "not yet"
