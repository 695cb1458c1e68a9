"""What lab 03's answers must be: the rule cell by cell; films and repeats of another automaton, every board kept."""

import re

import numpy as np

from .driver import parity

AROUND = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]


def one_generation(board, birth=(3,), survive=(2, 3)):
    """The rule as it is worded: every cell, eight look-ups, indices modulo the size."""
    height, width = board.shape
    following = np.zeros((height, width), np.uint8)
    for row in range(height):
        for column in range(width):
            count = sum(int(board[(row + d) % height, (column + r) % width]) for d, r in AROUND)
            following[row, column] = count in (survive if board[row, column] else birth)
    return following


def by_rule(board, rule):
    """One generation by a rule such as B36/S23."""
    birth, survive = re.fullmatch(r"B(\d*)/S(\d*)", rule).groups()
    return one_generation(board, {int(k) for k in birth}, {int(k) for k in survive})


def after(board, generations):
    """Small boards cell by cell; large ones by eight rolled copies, which small boards have held to the same cells."""
    for _ in range(generations):
        board = one_generation(board) if board.size <= 4096 else _rolled(board)
    return board


def _rolled(board):
    counts = sum(np.roll(board, move, axis=(0, 1)) for move in AROUND)
    return ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.uint8)


def every_frame(board, generations):
    """The board and what follows by the other automaton, one after another: (generations + 1, H, W)."""
    frames = np.zeros((generations + 1, *board.shape), np.uint8)
    frames[0] = board
    for generation in range(generations):
        frames[generation + 1] = parity(frames[generation])
    return frames


def first_repeat(board, limit):
    """Every generation is kept whole and compared with all before it, 10,000 of them at most."""
    every = [np.array(board)]
    for generation in range(1, min(limit, 10_000) + 1):
        every.append(parity(every[-1]))
        for start in range(generation):
            if np.array_equal(every[start], every[generation]):
                return start, generation - start
    return limit, 0
