"""What lab 03 asks about, the smallest first: boards, patterns written to files, rules. Some fixed, some drawn."""

import re
from pathlib import Path

import numpy as np

from course.checks.exercise import Case

from .oracles import first_repeat

GUN = "gosper_glider_gun.rle"


def soup(draw, height, width, density=0.4):
    """Return a board (height, width) on which each cell lives with that probability."""
    return (draw.random((height, width)) < density).astype(np.uint8)


def _soups(draw, *sizes):
    return [soup(draw, height, width) for height, width in sizes]


def _board(rows):
    return np.array([[int(cell) for cell in row] for row in rows.split()], np.uint8)


def fixed_boards():
    """Return the boards that everybody gets, the smallest first: one cell, cells at the edges, a full board."""
    corners = []
    for row, column in ((0, 0), (0, 3), (3, 0), (3, 3)):
        board = np.zeros((4, 4), np.uint8)
        board[row - 1, column - 1] = board[row, column] = board[row, (column + 1) % 4] = 1
        corners.append(board)
    blinker = _board("00000 00000 01110 00000 00000")
    return [np.zeros((3, 3), np.uint8), _board("000 010 000"), *corners, blinker, np.ones((4, 5), np.uint8)]


def boards(draw):
    """Return (board,) each, fixed and drawn."""
    drawn = _soups(draw, (3, 4), (5, 7), (9, 6), (16, 23))
    return [(board,) for board in fixed_boards()], [(board,) for board in drawn]


def films(draw):
    """Return (board, generations) each."""
    fixed = [(board, count) for count, board in enumerate(fixed_boards()[1:5])]
    return fixed, [(board, int(draw.integers(5, 12))) for board in _drawn_in_turn(draw, (3, 4), (8, 5), (12, 20))]


def _drawn_in_turn(draw, *sizes):
    # one at a time, so that whoever draws a number for each board draws it right after the board
    return (soup(draw, height, width) for height, width in sizes)


def repeats(draw):
    """Return (board, limit) each: a limit just too small and one just large enough, and one of a thousand million."""
    fixed = np.random.default_rng(0)
    small, long = soup(fixed, 5, 5), soup(fixed, 5, 7)
    start, period = first_repeat(small, 100)
    cases = [(board, 20) for board in fixed_boards()[:3]]
    cases += [(small, start + period - 1), (small, start + period), (long, 10**9)]
    sizes = [(3, 5), (3, 7), (4, 6), (5, 9), (8, 8)]
    return cases, [(board, int(draw.integers(90, 200))) for board in _drawn_in_turn(draw, *sizes)]


def rules(draw):
    """Return (board, rule) each, a rule being a text such as B36/S23."""
    named = ("B3/S23", "B36/S23", "B2/S", "B/S012345678", "B0/S8")
    sizes = [(3, 4), (5, 7), (9, 6), (16, 23), (30, 31)]
    drawn = [(board, _rule(draw)) for board in _drawn_in_turn(draw, *sizes)]
    return [(board, rule) for rule in named for board in fixed_boards()], drawn


def _rule(draw):
    birth, survive = ("".join(str(k) for k in range(9) if draw.random() < 0.4) for _ in "BS")
    return f"B{birth}/S{survive}"


def runs(draw):
    """Return (board, generations) each, as `Case`s: that they are right is one part of the credit."""
    fixed = [(board, count) for count, board in enumerate(fixed_boards())]
    sizes = [(3, 4), (5, 7), (17, 9), (24, 33)]
    drawn = [(board, int(draw.integers(2, 9))) for board in _drawn_in_turn(draw, *sizes)]
    # another board of one that was asked, for as long: whoever replays a first answer is wrong
    drawn.append((soup(draw, 17, 9), drawn[2][1]))
    return [Case(pair, edge=True, group="right") for pair in fixed] + [Case(pair, group="right") for pair in drawn]


# ---- Files -----------------------------------------------------------------------------------------------------------


def files(draw):
    """Return `Case`s of a path: fixed patterns, the gun that lies beside the notebook, drawn patterns."""
    gun = Path(__file__).with_name(GUN).read_text(encoding="utf-8")
    fixed, texts = np.random.default_rng(0), pattern_texts(draw)
    cases = [file_of(board, text, edge=True) for board, text in pattern_texts(fixed)[:6]]
    return cases + [file_of(_gun_board(), gun, edge=True)] + [file_of(board, text) for board, text in texts[6:]]


def file_of(board, text, edge=False):
    """Return the `Case` of a file that holds `text`, which was written from `board`."""
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


def rle_text(board, columns=70, comments="", rule=", rule = B3/S23", tail="\n"):
    """Return the RLE text of `board`, wrapped after `columns` signs: the writer that the reader is checked with."""
    rows = ["".join("o" if cell else "b" for cell in row).rstrip("b") for row in board.tolist()]
    counted = re.sub(r"(.)\1+", lambda run: f"{len(run[0])}{run[1]}", "$".join(rows).rstrip("$") + "!")
    lines = [""]
    for piece in re.findall(r"\d*[bo$!]", counted):
        if lines[-1] and len(lines[-1] + piece) > columns:
            lines.append("")
        lines[-1] += piece
    return f"{comments}x = {board.shape[1]}, y = {board.shape[0]}{rule}\n" + "\n".join(lines) + tail


def pattern_texts(draw):
    """Return (board, RLE text) pairs, the simplest first."""
    glider = _board("010 001 111")
    apart = np.zeros((6, 12), np.uint8)
    apart[0, 11] = apart[4, :10] = 1  # an empty run of rows, a count of two digits, an empty row at the end
    soups = _soups(draw, (4, 6), (11, 17), (9, 40))
    return [
        (glider, "x = 3, y = 3\nbo$2bo$3o!\n"),
        (_board("11 11"), "x = 2, y = 2\n2o$2o!\n"),
        (np.zeros((2, 3), np.uint8), "x = 3, y = 2\n!\n"),
        (glider, "#N Glider\n#C bob$ob! is no cell of it\n" + rle_text(glider)),
        (apart, rle_text(apart)),
        (apart, rle_text(apart, columns=5)),
        (soups[0], rle_text(soups[0], rule="", tail="\nafter the end: 3o$ is a note\n")),
        (soups[1], rle_text(soups[1], columns=20, comments="#O somebody\n")),
        (soups[2], rle_text(soups[2], rule=", rule = B36/S23")),
    ]
