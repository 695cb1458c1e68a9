"""The fastest engine: 64 cells in a word, tiles in the processor's cache, all its cores. See `course.life.kernels`.

A kernel is compiled for each rule when it is first asked for, and kept on disk. Where numba can't be used, the packed
engine of plain PyTorch gives the same cells; a board on a CUDA GPU has an engine of its own.
"""

import sys
from functools import cache, partial

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
WORTH_A_THREAD = 1 << 20  # words advanced in the time of ten starts of a thread


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
    words = -(-shape[0] // 64) * shape[1]
    large = words >= 4096 and words * (generations + 4) >= WORTH_A_THREAD  # packing costs about four generations
    return compiled.threads() if large else 1


def turned(height: int, width: int) -> bool:
    """Return whether the columns of a board become the rows of words: where that saves a third, for turning costs."""
    return 2 * -(-height // 64) * width > 3 * -(-width // 64) * height


def pack(cells: np.ndarray, wrap: bool, threads: int = 1) -> np.ndarray:
    """Return the words, `uint64` (⌈H / 64⌉, W), of `cells`, `uint8` (H, W); a cell above 1 is a ValueError."""
    from course.life import kernels, lane_kernels

    height, width = cells.shape
    words, tickets = np.empty((-(-height // 64), width), np.uint64), kernels.new_tickets()
    compiled.together(threads, lane_kernels.pack, cells, words, wrap, tickets)
    if tickets[kernels.WRONG]:
        check_board(torch.from_numpy(cells), "run(board=…)")
    return words


def unpack(words: np.ndarray, height: int, threads: int = 1) -> np.ndarray:
    """Return the cells, `uint8` (H, W), that are in `words`."""
    from course.life import kernels, lane_kernels

    cells = np.empty((height, words.shape[1]), np.uint8)
    compiled.together(threads, lane_kernels.unpack, words, cells, kernels.new_tickets())
    return cells


def run_words(words: np.ndarray, height: int, generations: int, rule: Rule, wrap: bool, threads: int = 1) -> np.ndarray:
    """Return the words (R, W) after `generations`; what is in `words` is lost."""
    from course.life import kernels

    birth, survive = (sum(1 << count for count in counts) for counts in (rule.birth, rule.survive))
    one = len(words) == 1
    rules = (0, kernels.only_row_of(birth, survive)) if one else (kernels.rows_of(birth, survive), 0)
    other = np.empty_like(words)
    while generations:
        now = min(generations, max(1, LONGEST // words.size))
        k, *tile = tiling(len(words), words.shape[1], now, threads)
        tickets = kernels.new_tickets()
        compiled.together(threads, kernels.advance, *rules, words, other, height, wrap, now, k, *tile, tickets)
        if -(-now // k) % 2:
            words, other = other, words
        generations -= now
    return words


def tiling(rows: int, columns: int, generations: int, threads: int) -> tuple[int, int, int]:
    """Return k, the generations a pass, and the rows and columns of words in a tile."""
    fit = CACHE // 16
    if threads == 1 and (rows + 5) * (columns + 16) <= fit:
        return generations, rows, columns
    if columns < 64 * threads:  # tall and narrow: the rows are cut
        tile_rows = min(-(-rows // threads), max(fit // (columns + 16), 16))
        return max(1, min(generations, 32, tile_rows // 16, rows)), tile_rows, columns
    high = min(rows, 128)
    tile_columns = min(-(-columns // threads), max(fit // (high + 5) - 32, 64))
    return max(1, min(generations, 32 if rows == high else 16, tile_columns // 16)), high, tile_columns
