"""How lab 03 is marked: boards, files and rules drawn for each submission; the rule counted cell by cell as oracle.

Films and repeats are asked of another automaton than Life, so that each exercise stands alone, and so that what the
witness brings into the sandbox is no answer to any of them.
"""

from pathlib import Path

import numpy as np

from grader.lab.spec import Case, Drive, Exercise, Lab, Race, fixed_and_drawn
from grader.marking.result_types import Array, Integer, Tuple_

from .checks import AROUND, by_rule, first_repeat, fixed_boards, one_generation, pattern_texts

#: An odd number of the four nearest: not Life, and linear, so that it repeats after many different periods.
PARITY = """
def drive(entry, board, number):
    import numpy

    def step(cells):
        up, left = numpy.roll(cells, 1, axis=0), numpy.roll(cells, 1, axis=1)
        return up ^ numpy.roll(cells, -1, axis=0) ^ left ^ numpy.roll(cells, -1, axis=1)

    return entry(board, number, step)
"""

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


def parity(cells):
    return np.roll(cells, 1, 0) ^ np.roll(cells, -1, 0) ^ np.roll(cells, 1, 1) ^ np.roll(cells, -1, 1)


def soup(draw, height, width, density=0.4):
    return (draw.random((height, width)) < density).astype(np.uint8)


def same_board(case):
    return Array("uint8", case.arguments[0].shape)


# ---- 1. One generation -----------------------------------------------------------------------------------------------


def boards(draw):
    drawn = [soup(draw, height, width) for height, width in ((3, 4), (5, 7), (9, 6), (16, 23))]
    return fixed_and_drawn([(board,) for board in fixed_boards()], [(board,) for board in drawn])


NEXT_GENERATION = Exercise(
    "next_generation",
    cases=boards,
    evidence=same_board,
    expected=one_generation,
    oracle="every cell by itself, its eight neighbours looked up with indices modulo the size",
)


# ---- 2. The film -----------------------------------------------------------------------------------------------------


def films(draw):
    fixed = [(board, count) for count, board in enumerate(fixed_boards()[1:5])]
    drawn = [(soup(draw, height, width), int(draw.integers(5, 12))) for height, width in ((3, 4), (8, 5), (12, 20))]
    return fixed_and_drawn(fixed, drawn)


def every_frame(board, generations):
    frames = np.zeros((generations + 1, *board.shape), np.uint8)
    frames[0] = board
    for generation in range(generations):
        frames[generation + 1] = parity(frames[generation])
    return frames


FILM = Exercise(
    "film",
    cases=films,
    evidence=lambda case: Array("uint8", (case.arguments[1] + 1, *case.arguments[0].shape)),
    expected=every_frame,
    witness=Drive(PARITY, adds=("step",)),
    oracle="the frames one after another, by another rule than Life's",
)


# ---- 3. A pattern from its file --------------------------------------------------------------------------------------


def files(draw):
    gun = Path(__file__).with_name("gosper_glider_gun.rle").read_text(encoding="utf-8")
    fixed, texts = np.random.default_rng(0), pattern_texts(draw)
    cases = [_file(board, text, edge=True) for board, text in pattern_texts(fixed)[:6]]
    return cases + [_file(_gun_board(), gun, edge=True)] + [_file(board, text) for board, text in texts[6:]]


def _file(board, text, edge=False):
    return Case(("pattern.rle",), edge=edge, files={"pattern.rle": text.encode()}, truth=board)


def _gun_board():
    # where its cells are, as every atlas of Life draws it: not what a reader of files made of the text
    rows = {
        0: [24],
        1: [22, 24],
        2: [12, 13, 20, 21, 34, 35],
        3: [11, 15, 20, 21, 34, 35],
        4: [0, 1, 10, 16, 20, 21],
        5: [0, 1, 10, 14, 16, 17, 22, 24],
        6: [10, 16, 24],
        7: [11, 15],
        8: [12, 13],
    }
    board = np.zeros((9, 36), np.uint8)
    for row, columns in rows.items():
        board[row, columns] = 1
    return board


READ_RLE = Exercise(
    "read_rle",
    cases=files,
    evidence=Array("uint8", (None, None), limit=1 << 20),
    oracle="the board that the file was written from",
)


# ---- 4. Stop when it repeats -----------------------------------------------------------------------------------------


def repeats(draw):
    fixed = np.random.default_rng(0)
    small, long = soup(fixed, 5, 5), soup(fixed, 5, 7)
    start, period = repeat_of(small, 100)
    cases = [(board, 20) for board in fixed_boards()[:3]]
    cases += [(small, start + period - 1), (small, start + period), (long, 10**9)]
    sizes = [(3, 5), (3, 7), (4, 6), (5, 9), (8, 8)]
    drawn = [(soup(draw, *size), int(draw.integers(90, 200))) for size in sizes]
    return fixed_and_drawn(cases, drawn)


def repeat_of(board, limit):
    return first_repeat(board, min(limit, 10_000), parity)


RUN_UNTIL_REPEAT = Exercise(
    "run_until_repeat",
    cases=repeats,
    evidence=Tuple_(Integer(), Integer()),
    expected=repeat_of,
    witness=Drive(PARITY, adds=("step",)),
    oracle="every board kept whole and compared with all before it, by another rule than Life's",
)


# ---- 5. Another rule -------------------------------------------------------------------------------------------------


def rules(draw):
    fixed = [
        (board, rule) for rule in ("B3/S23", "B36/S23", "B2/S", "B/S012345678", "B0/S8") for board in fixed_boards()
    ]
    drawn = [(soup(draw, height, width), _rule(draw)) for height, width in ((3, 4), (5, 7), (9, 6), (16, 23), (30, 31))]
    return fixed_and_drawn(fixed, drawn)


def _rule(draw):
    birth, survive = ("".join(str(k) for k in range(9) if draw.random() < 0.4) for _ in "BS")
    return f"B{birth}/S{survive}"


RULE_STEP = Exercise(
    "rule_step",
    cases=rules,
    evidence=same_board,
    expected=by_rule,
    oracle="every cell by itself, born and surviving by the digits",
)


# ---- 6. A fast step --------------------------------------------------------------------------------------------------


def long_runs(draw):
    fixed = [(board, count) for count, board in enumerate(fixed_boards())]
    drawn = [
        (soup(draw, height, width), int(draw.integers(2, 9))) for height, width in ((3, 4), (5, 7), (17, 9), (24, 33))
    ]
    cases = [Case(pair, edge=True, group="right") for pair in fixed] + [Case(pair, group="right") for pair in drawn]
    return [*cases, Case((soup(draw, 512, 512), 12), group="fast")]


def fresh(draw, answer):
    """The next board of the race: the last answer with noise laid over it."""
    return answer ^ soup(draw, *answer.shape), 12


def after(board, generations):
    """Small boards cell by cell; the race's by eight rolled copies, which small boards have held to the same cells."""
    for _ in range(generations):
        board = one_generation(board) if board.size <= 4096 else rolled(board)
    return board


def rolled(board):
    counts = sum(np.roll(board, move, axis=(0, 1)) for move in AROUND)
    return ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.uint8)


FAST_STEP = Exercise(
    "fast_step",
    cases=long_runs,
    evidence=same_board,
    expected=after,
    witness=Race(EIGHT_ROLLS, times=3.0, chain=fresh, rounds=5),
    groups={"right": 0.5, "fast": 0.5},
    seconds=3.0,
    oracle="every cell by itself, generation after generation; the speed is a ratio to eight rolls, timed outside",
    specification_gets=0.5,
)


LAB = Lab(
    "lab03_game_of_life",
    title="The Game of Life",
    exercises=[NEXT_GENERATION, FILM, READ_RLE, RUN_UNTIL_REPEAT, RULE_STEP, FAST_STEP],
    files=("gosper_glider_gun.rle",),
    imports=("numpy",),
)
