"""The fastest engine: 64 cells in a word, tiles in the processor's cache, all its cores. See `course.life.kernels`.

A kernel is compiled for each rule when it is first asked for, and kept on disk. Where numba can't be used, the packed
engine of plain PyTorch gives the same cells; a board on a CUDA GPU has an engine of its own.
"""

import sys
from functools import cache, partial
from math import isqrt

import numpy as np
import psutil
import torch

from course import compiled
from course.life.board import check_board
from course.life.packed_gpu import packed_gpu
from course.life.packed_torch import packed_torch
from course.life.rule import Rule

CACHE = 1_250_000  # bytes of one core's cache for the two buffers of a tile
LONGEST = 1 << 28  # words advanced in one call of a kernel, some 0.1 s: an interrupt waits for its end
PACKED = 1 << 23  # words packed or unpacked in one call, some 0.1 s
WORTH_A_THREAD = 1 << 20  # words advanced in the time of ten starts of a thread
WORDS_FOR_THREADS = 4096  # smaller boards are advanced by one thread
LENGTH_FOR_THREADS = 192  # words: where less is to be cut in two, ghosts and copies take what a second thread gives
COPIED = 5  # generations advanced in the time that a tile's copy takes, in and out; measured
NARROW = 16  # columns: with fewer, a row of words takes as long as one with so many


def packed(board: torch.Tensor, generations: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return `board` after `generations`, a new board on the same device.

    Beyond the board and the result it takes a quarter of a byte a cell. A cell above 1 is a ValueError.
    """
    if on_gpu(board):
        check_board(board, "run(board=…)")
        return packed_gpu(board, generations, rule, wrap)
    turn = turned(*board.shape)  # Life doesn't know rows from columns
    if not ready(rule, board.shape[turn] <= 64):
        check_board(board, "run(board=…)")
        return packed_torch(board, generations, rule, wrap)
    check_memory(board.numel())
    cells = board.numpy(force=True)
    cells = np.ascontiguousarray(cells.T if turn else cells)
    threads = workers(cells.shape, generations)
    try:
        words = pack(cells, wrap, threads)
    except ValueError:
        check_board(board, "run(board=…)")  # names the cell, which may have been turned
        raise
    words = run_words(words, cells.shape[0], generations, rule, wrap, threads)
    after = unpack(words, cells.shape[0], threads)
    return torch.from_numpy(np.ascontiguousarray(after.T) if turn else after).to(board.device)


def on_gpu(board: torch.Tensor) -> bool:
    """Return whether `board` is on a CUDA GPU that is there: a simulated one computes on the CPU."""
    return type(board) is torch.Tensor and board.device.type == "cuda"


def check_memory(cells: int) -> None:
    """Raise MemoryError unless there is room for the result of a board of `cells` cells and for two boards of words."""
    if cells < 1 << 24:  # 20 MB; to ask takes longer than some runs
        return
    needed, free = cells + cells // 4, psutil.virtual_memory().available
    if needed > free:
        raise MemoryError(
            f"run(board=…): {cells:,} cells take {needed / 1e9:.1f} GB more for their words and the result, and "
            f"{free / 1e9:.1f} GB are free. Use a smaller board, or close what else uses memory."
        )


@cache
def ready(rule: Rule, flat: bool) -> bool:
    """Return whether the kernels of `rule` can be used; the first time they are compiled, or read from the disk.

    `flat`: the one for boards of a single word row, instead of the one for all others.
    """
    return compiled.available() and compiled.usable("Life's", partial(_first_call, rule, 3 if flat else 65))


def _first_call(rule, height):
    words = pack(np.zeros((height, 3), np.uint8), True)
    unpack(run_words(words, height, 1, rule, True), height)


def loaded() -> bool:
    """Return whether the kernels are in this process already, so that using them costs nothing more."""
    return "course.life.kernels" in sys.modules


def workers(shape: tuple[int, ...], generations: int) -> int:
    """Return how many threads a packed board of `shape` (H, W) is worth."""
    rows, columns, threads = -(-shape[0] // 64), shape[1], compiled.threads()
    words = rows * columns
    work = words * (generations + 4)  # packing costs about four generations
    cut = rows if _rows_are_cut(columns, threads) else columns
    too_short = cut < LENGTH_FOR_THREADS and _is_one_tile(rows, columns)
    return 1 if words < WORDS_FOR_THREADS or work < WORTH_A_THREAD or too_short else threads


def turned(height: int, width: int) -> bool:
    """Return whether the columns of a board become the rows of words: where that saves a third, for turning costs."""
    across, along = -(-height // 64) * width, -(-width // 64) * height
    if max(across, along) < WORDS_FOR_THREADS:
        across, along = _work(height, width), _work(width, height)
    return height >= NARROW and 2 * across > 3 * along


def _work(height, width):
    """Return about how long a generation of a board takes, in words of the inner loop; measured."""
    rows = -(-height // 64)
    if rows == 1:
        return width * 3 // 2
    return (-(-rows // 4) * 4 + 2) * (-(-width // 8) * 8 + 13)  # four rows at a time, and those beyond the edges


def pack(cells: np.ndarray, wrap: bool, threads: int = 1) -> np.ndarray:
    """Return the words, `uint64` (⌈H / 64⌉, W), of `cells`, `uint8` (H, W); a cell above 1 is a ValueError."""
    from course.life import lane_kernels

    height, width = cells.shape
    words = np.empty((-(-height // 64), width), np.uint64)
    wrong = []

    def piece(first, last):
        if not lane_kernels.pack(cells, words, wrap, first, last):
            wrong.append(first)

    compiled.in_pieces(threads, len(words), piece, most=max(1, PACKED // width))
    if wrong:
        check_board(torch.from_numpy(cells), "run(board=…)")
    return words


def unpack(words: np.ndarray, height: int, threads: int = 1) -> np.ndarray:
    """Return the cells, `uint8` (H, W), that are in `words`."""
    from course.life import lane_kernels

    rows, width = words.shape
    cells = np.empty((height, width), np.uint8)
    piece = partial(lane_kernels.unpack, words, cells)
    compiled.in_pieces(threads, rows, piece, most=max(1, PACKED // width))
    return cells


def run_words(words: np.ndarray, height: int, generations: int, rule: Rule, wrap: bool, threads: int = 1) -> np.ndarray:
    """Return the words (R, W) after `generations`; what is in `words` is lost."""
    from course.life import kernels, row_kernels

    birth, survive = (sum(1 << count for count in counts) for counts in (rule.birth, rule.survive))
    flat = len(words) == 1
    rules = (0, row_kernels.only_row_of(birth, survive)) if flat else (row_kernels.rows_of(birth, survive), 0)
    other = np.empty_like(words)
    while generations:
        advanced = min(generations, max(1, LONGEST // words.size))
        k, *tile = tiling(len(words), words.shape[1], advanced, threads)
        tickets = kernels.new_tickets()
        compiled.together(threads, kernels.advance, *rules, words, other, height, wrap, advanced, k, *tile, tickets)
        if -(-advanced // k) % 2:
            words, other = other, words
        generations -= advanced
    return words


def tiling(rows: int, columns: int, generations: int, threads: int) -> tuple[int, int, int]:
    """Return k, the generations a pass, and the rows and columns of words in a tile."""
    fit = CACHE // 16
    if threads == 1 and _is_one_tile(rows, columns):
        return generations, rows, columns
    if _rows_are_cut(columns, threads):
        tile_rows = min(-(-rows // threads), max(fit // (columns + 16), 16))
        return max(1, min(generations, _pass(tile_rows), rows)), tile_rows, columns
    high = min(rows, 128)
    tile_columns = min(-(-columns // threads), max(fit // (high + 5) - 32, 64))
    return max(1, min(generations, _pass(tile_columns), 32 if rows == high else 16)), high, tile_columns


def _pass(length):
    """Return how many generations a pass takes least time with, where a side of a tile of so many words is cut.

    k ghosts on each side are k times advanced, and the copy is paid once: (length + 2k)(1 + COPIED / k) is least.
    """
    return min(32, isqrt(COPIED * length // 2))


def _is_one_tile(rows, columns):
    return (rows + 5) * (columns + 16) <= CACHE // 16


def _rows_are_cut(columns, threads):
    return columns < 64 * threads  # tall and narrow
