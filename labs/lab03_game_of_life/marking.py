"""How lab 03 is marked: by the cells of boards, on boards, files and rules drawn for each submission; and by a race.

Films and repeats are asked of another automaton than Life, so that each exercise stands alone, and so that what drives
an answer in the sandbox is no answer to any of them.
"""

from grader.lab.spec import Lab, Marking, Race
from grader.marking.result_types import Array, Integer, Tuple_

from .cases import soup
from .checks import EXERCISES

EIGHT_ROLLS = """
import numpy as np

def fast_step(board, generations):
    board = board.astype(np.int64)
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    for _ in range(generations):
        counts = sum(np.roll(board, move, axis=(0, 1)) for move in moves)
        board = ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.int64)
    return board.astype(np.uint8)
"""


def same_board(case):
    """Return the kind of a board of the size that is asked about."""
    return Array("uint8", case.arguments[0].shape)


def a_film(case):
    """Return the kind of a film: one frame more than generations."""
    board, generations = case.arguments
    return Array("uint8", (generations + 1, *board.shape))


def start(draw):
    """Return the first question of the race."""
    return soup(draw, 512, 512), 12


def fresh(draw, answer):
    """Return the next question of the race: the last answer with noise laid over it."""
    return answer ^ soup(draw, *answer.shape), 12


LAB = Lab(
    "lab03_game_of_life",
    title="The Game of Life",
    exercises=[
        Marking(EXERCISES["next_generation"], same_board),
        Marking(EXERCISES["film"], a_film),
        Marking(EXERCISES["read_rle"], Array("uint8", (None, None), limit=1 << 20)),
        Marking(EXERCISES["run_until_repeat"], Tuple_(Integer(), Integer())),
        Marking(EXERCISES["rule_step"], same_board),
        Marking(
            EXERCISES["fast_step"],
            same_board,
            race=Race(EIGHT_ROLLS, times=3.0, start=start, chain=fresh, rounds=5),
            groups={"right": 0.5, "fast": 0.5},
            seconds=3.0,
            specification_gets=0.5,
        ),
    ],
    files=("gosper_glider_gun.rle",),
    imports=("numpy",),
)
