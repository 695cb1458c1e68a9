"""Chapter 03's exercises: counting neighbours, another rule, a repeated state, a pattern from its file."""

from itertools import product

import torch

from course.checks.exercise import Exercise, by_name
from course.life import empty, from_text, pattern, put, random_board, reference_step, run
from course.life.edges import neighbours

_BLINKER = ".....\n.....\n.OOO.\n.....\n....."


def _boards():
    """Yield boards from the smallest up: one cell, one at an edge, a blinker, then random ones of odd sizes."""
    yield (empty(3, 3),)
    yield (from_text("...\n.O.\n..."),)  # a cell is not its own neighbour
    yield (from_text("OOO\nOOO\n..."),)  # on so small a board all other cells are neighbours: here 6 of a dead one
    yield (from_text("OOO\nOOO\nO.."),)  # and here 6 of a living one
    yield (from_text("OO.O\n....\n....\n...."),)  # three in a row, beyond the edge
    for corner in ((0, 0), (0, 3), (3, 0), (3, 3)):
        board = empty(4, 4)
        board[corner] = 1  # its neighbours lie beyond the edge
        yield (board,)
    yield (from_text(_BLINKER),)
    generator = torch.Generator().manual_seed(3)
    for height, width in ((3, 4), (5, 3), (4, 7), (8, 8), (9, 13)):
        yield (random_board(height, width, 0.4, generator),)


def _count(board):
    counts = torch.zeros_like(board)
    for row, column in product(*map(range, board.shape)):
        counts[row, column] = sum(board[cell] for cell in neighbours((row, column), *board.shape))
    return counts


def _repeats():
    """Yield (board, limit): a still life, oscillators, a board that dies, a limit too low to find the repeat."""
    block = from_text("....\n.OO.\n.OO.\n....")
    glider = from_text(".O...\n..O..\nOOO..\n.....\n.....")
    yield block, 1  # found with the last generation that counts
    yield block, 5
    yield from_text(_BLINKER), 1  # and one generation too late
    yield from_text(_BLINKER), 2
    yield from_text(_BLINKER), 5
    yield from_text("O..\n...\n..."), 5
    yield glider, 40
    yield glider, 10
    yield random_board(6, 6, 0.4, torch.Generator().manual_seed(2)), 100


def _first_repeat(board, limit):
    """Compare every generation with all before it, kept whole: slow, and nothing can go wrong."""
    every = [board]
    for generation in range(1, limit + 1):
        board = reference_step(board)
        for start, before in enumerate(every):
            if torch.equal(board, before):
                return start, generation - start
        every.append(board)
    return ()


def _diehard_generation():
    board = put(empty(64, 64), pattern("diehard"), row=30, column=28)
    for generation in range(200):
        if not board.any():
            return generation
        board = run(board, 1, engine="roll")
    return None


EXERCISES = by_name(
    Exercise(
        "count_neighbours",
        _boards,
        _count,
        hint="board.roll(1, dims=0) moves every row down by one, the last to the top: eight such boards, summed.",
    ),
    Exercise(
        "highlife_step",
        _boards,
        lambda board: reference_step(board, "B36/S23"),
        hint="a dead cell is born with 3 or with 6 neighbours; a living one survives with 2 or 3, never with 6.",
    ),
    Exercise(
        "first_repeat",
        _repeats,
        _first_repeat,
        hint="a dictionary from a board's bytes (board.numpy().tobytes()) to the generation that first had them.",
    ),
    Exercise(
        "diehard_generation",
        lambda: [()],
        _diehard_generation,
        hint="int(board.sum()) counts the living cells of one board; the board you start from is generation 0.",
    ),
)
