"""The fastest engine: 64 cells in a word, tiles in the processor's cache, all its cores. See `course.life.kernels`.

A kernel is compiled for each rule when it is first asked for, and kept on disk. Where numba can't be used, the packed
engine of plain PyTorch gives the same cells.
"""

import numpy as np
import torch

from course import compiled
from course.life.board import check_board
from course.life.packed_torch import packed_torch
from course.life.rule import Rule

CACHE = 400_000  # bytes of one core's cache for the two buffers of a tile: the second level of most is larger
LONGEST = 1 << 32  # words in one call of a kernel, about 0.1 s: an interrupt waits for its end
WORTH_A_THREAD = 1 << 20  # words that take about as long as ten starts of a thread


def packed(board: torch.Tensor, generations: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return `board` after `generations`, a new board on the same device."""
    if not compiled.available():
        return packed_torch(board, generations, rule, wrap)
    cells = board.numpy(force=True)
    if turned(*cells.shape):  # Life doesn't know rows from columns
        cells = cells.T
    threads = compiled.threads() if cells.size // 64 * (generations + 4) >= WORTH_A_THREAD else 1
    words = pack(np.ascontiguousarray(cells), wrap, threads)
    words = run_words(words, cells.shape[0], generations, rule, wrap, threads)
    after = torch.from_numpy(unpack(words, cells.shape[0], threads))
    return (after.T.contiguous() if turned(*board.shape) else after).to(board.device)


def turned(height: int, width: int) -> bool:
    """Return whether the columns of a board become the rows of words: where that saves a tenth of all words."""
    return 0.9 * (-(-height // 64) + 2) * (width + 2) > (-(-width // 64) + 2) * (height + 2)


def pack(cells: np.ndarray, wrap: bool, threads: int = 1) -> np.ndarray:
    """Return the words, `uint64` (⌈H / 64⌉, W), of `cells`, `uint8` (H, W); a cell above 1 is a ValueError."""
    from course.life import kernels

    height, width = cells.shape
    words, tickets = np.empty((-(-height // 64), width), np.uint64), kernels.new_tickets()
    compiled.together(threads, kernels.pack, cells, words, wrap, tickets)
    if tickets[kernels.WRONG]:
        check_board(torch.from_numpy(cells), "run(board=…)")
    return words


def unpack(words: np.ndarray, height: int, threads: int = 1) -> np.ndarray:
    """Return the cells, `uint8` (H, W), that are in `words`."""
    from course.life import kernels

    cells = np.empty((height, words.shape[1]), np.uint8)
    compiled.together(threads, kernels.unpack, words, cells, kernels.new_tickets())
    return cells


def run_words(words: np.ndarray, height: int, generations: int, rule: Rule, wrap: bool, threads: int) -> np.ndarray:
    """Return the words (R, W) after `generations`; what is in `words` is lost."""
    from course.life import kernels

    birth, survive = (sum(1 << count for count in counts) for counts in (rule.birth, rule.survive))
    one = len(words) == 1
    rules = (0, kernels.only_row_of(birth, survive)) if one else (kernels.rows_of(birth, survive), 0)
    other = np.empty_like(words)
    while generations:
        now = min(generations, max(1, LONGEST // words.size))
        k, *tile = tiling(*words.shape, now, threads)
        tickets = kernels.new_tickets()
        compiled.together(threads, kernels.advance, *rules, words, other, height, wrap, now, k, *tile, tickets)
        if -(-now // k) % 2:
            words, other = other, words
        generations -= now
    return words


def tiling(rows: int, columns: int, generations: int, threads: int) -> tuple[int, int, int]:
    """Return k, the generations a pass, and the rows and columns of words in a tile."""
    fit = CACHE // 16
    if threads == 1 and (rows + 2) * (columns + 16) <= fit:
        return generations, rows, columns
    k = max(1, min(generations, 16, rows, columns))
    tile_columns = min(columns, max(fit // (min(rows, 128) + 2) - 2 * k, 8 * k), -(-columns // threads))
    tile_rows = min(rows, max(fit // (tile_columns + 2 * k) - 2 * k, 4 * k))
    return k, tile_rows, tile_columns
