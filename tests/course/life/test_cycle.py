"""A repeated state is found at its first return, whatever its period; compared with keeping every board."""

import torch
from hypothesis import given, settings

from course import life
from tests.course.life.test_life import RULES, boards


def first_return(board, limit, rule, wrap):
    every = [board]
    for generation in range(1, limit + 1):
        every.append(life.run(every[-1], 1, "roll", rule, wrap))
        for start in range(generation):
            if torch.equal(every[start], every[generation]):
                return life.Cycle(start, generation - start)
    return None


@settings(max_examples=50)
@given(board=boards(largest=7), rule=RULES)
def test_the_cycle_found_is_the_first_return(board, rule):
    if board.numel() > 64:
        board = board[:8, :8].contiguous()
    for wrap in (True, False):
        assert life.find_cycle(board, 12, rule, wrap) == first_return(board, 12, rule, wrap)


def test_a_limit_below_the_first_return_finds_nothing_and_one_at_it_finds_it():
    board = life.put(life.empty(8, 8), life.pattern("glider"))
    assert life.find_cycle(board, 31) is None
    assert life.find_cycle(board, 32) == life.Cycle(0, 32)


def test_two_boards_with_one_fingerprint_are_not_taken_for_one(monkeypatch):
    module = life.find_cycle.__globals__  # `life.run` is the function
    monkeypatch.setitem(module, "_fingerprint", lambda board: bytes([int(board.sum())]))  # all gliders alike
    board = life.put(life.empty(8, 8), life.pattern("glider"))
    assert life.find_cycle(board, 31) is None
    assert life.find_cycle(board, 40) == life.Cycle(0, 32)
