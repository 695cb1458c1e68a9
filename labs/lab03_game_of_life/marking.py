"""How lab 03 is marked: boards drawn for each submission, and the rule counted cell by cell as oracle."""

import numpy as np

from course.grading.evidence import Array
from course.grading.lab import Case, Edit, Exercise, Lab


def one_generation(board):
    """The rule, cell by cell: eight look-ups each, indices modulo the size."""
    height, width = board.shape
    following = np.zeros_like(board)
    for row in range(height):
        for column in range(width):
            around = [(row + d, column + r) for d in (-1, 0, 1) for r in (-1, 0, 1) if (d, r) != (0, 0)]
            count = sum(int(board[r % height, c % width]) for r, c in around)
            following[row, column] = count == 3 or (count == 2 and board[row, column])
    return following


def boards(draw):
    """Edge cases first, smallest first; then boards of odd sizes."""
    corner = np.zeros((4, 4), np.uint8)
    corner[0, :3] = 1
    fixed = [np.zeros((3, 3), np.uint8), corner]
    drawn = [(draw.random(size) < 0.4).astype(np.uint8) for size in ((5, 7), (9, 6), (16, 23))]
    return [Case((board,), edge=True) for board in fixed] + [Case((board,)) for board in drawn]


LAB = Lab(
    "lab03_game_of_life",
    title="The Game of Life",
    imports=("numpy",),
    exercises=[
        Exercise(
            "next_generation",
            cases=boards,
            evidence=lambda case: Array("uint8", case.arguments[0].shape),
            expected=one_generation,
            oracle="the rule, counted cell by cell with indices modulo the size",
            wrong={
                "born with 2 as well": Edit("& (board == 1)", "& (board >= 0)"),
                "no death": Edit("((counts == 2) & (board == 1))", "(board == 1)"),
            },
        ),
    ],
)
