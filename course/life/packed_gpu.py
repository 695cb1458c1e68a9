"""The packed engine on a GPU: the layout of `course.life.kernels` in PyTorch's ops, fused to one kernel a generation.

A generation reads each word nine times, most often from the GPU's cache, and writes it once. `torch.compile` makes that
one kernel of some thirty bitwise operations. The same function runs uncompiled on any device, and tests run it so.

An estimate, not a measurement: a board of 32768² is 128 MiB of words, which a generation reads and writes once, 268 MB.
At the 3.35 TB/s of an H100 SXM (NVIDIA's data sheet, 2023) that takes 80 µs, 13 Tcell/s; a sixth of that speed is
2 Tcell/s. So one generation a pass is enough, and ghosts for more are not worth their code.
"""

import warnings
from collections.abc import Callable
from functools import cache

import torch

from course.life.rule import Rule
from course.life.sums import decide
from course.life.whole_board import roll


def packed_gpu(board: torch.Tensor, generations: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return `board` after `generations`, computed on its device; where nothing can be compiled, by `roll`."""
    if not _compiles(board.device, rule, wrap):
        return roll(board, generations, rule, wrap)
    return run_words(board, generations, rule, wrap, _compiled(rule, wrap))


def run_words(
    board: torch.Tensor, generations: int, rule: Rule, wrap: bool, following: Callable | None = None
) -> torch.Tensor:
    """Return `board`, `torch.uint8` (H, W), after `generations` of `following`, by default `next_words` as it is."""
    following = following or _one_of(rule, wrap)
    height = board.shape[0]
    words = pack(board, wrap)
    for _ in range(generations):
        words = following(words, height)
    return unpack(words, height)


def pack(board: torch.Tensor, wrap: bool) -> torch.Tensor:
    """Return the words of `board`: `torch.int64` (⌈H / 64⌉, W) on its device."""
    height, width = board.shape
    rows = -(-height // 64)
    words = torch.zeros(rows, width, dtype=torch.int64, device=board.device)
    for lane in range(64):
        at = torch.arange(lane * rows, (lane + 1) * rows, device=board.device)
        cells = board[at % height].long()
        words |= (cells if wrap else cells * (at < height)[:, None]) << lane
    return words


def unpack(words: torch.Tensor, height: int) -> torch.Tensor:
    """Return the board, `torch.uint8` (H, W), that `words` hold."""
    return torch.cat([((words >> lane) & 1).to(torch.uint8) for lane in range(64)])[:height]


def next_words(words: torch.Tensor, height: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return the next generation of `words`, (R, W); bit j of word (i, c) is the cell in row j·R + i, column c."""
    rows = len(words)
    before, after = (height - 1) % height, 64 * rows % height
    row = torch.arange(rows, device=words.device)[:, None]
    above, below = words.roll(1, 0), words.roll(-1, 0)  # not cut and joined, which would be copied
    moved_up, moved_down = above << 1, (below >> 1) & ((1 << 63) - 1)
    if wrap:
        moved_up = moved_up | (words[before % rows] >> before // rows) & 1
        moved_down = moved_down | ((words[after % rows] >> after // rows) & 1) << 63
    above, below = torch.where(row == 0, moved_up, above), torch.where(row == rows - 1, moved_down, below)
    pair_1, pair_2 = above ^ below, above & below
    column_1, column_2 = pair_1 ^ words, pair_2 | (pair_1 & words)
    ones, twos = (*_beside(column_1, wrap), pair_1), (*_beside(column_2, wrap), pair_2)
    following = decide(words, ones, twos, rule)
    return following if wrap else following & _inside(rows, height, words.device)


def _beside(columns, wrap):
    """Return what lies left and right of each column."""
    left, right = columns.roll(1, 1), columns.roll(-1, 1)
    if not wrap:
        at = torch.arange(columns.shape[1], device=columns.device)
        left, right = left * (at > 0), right * (at < columns.shape[1] - 1)
    return left, right


def _inside(rows, height, device):
    """Return a word for each row, (R, 1), with the bits that are cells of the board."""
    lanes = torch.arange(64, device=device)
    at = lanes * rows + torch.arange(rows, device=device)[:, None]
    return ((at < height).long() << lanes).sum(1, keepdim=True)


def _one_of(rule, wrap):
    return lambda words, height: next_words(words, height, rule, wrap)


@cache
def _compiled(rule, wrap):
    return torch.compile(_one_of(rule, wrap), dynamic=False)  # compiled for any size, torch 2.13 gave other bits


@cache
def _compiles(device, rule, wrap):
    words = pack(torch.ones(150, 8, dtype=torch.uint8, device=device), wrap)
    try:
        if not torch.equal(_compiled(rule, wrap)(words, 150), next_words(words, 150, rule, wrap)):
            raise RuntimeError("other cells than uncompiled")
    except Exception as error:  # torch._inductor's, Triton's and the C++ compiler's errors have no common class
        warnings.warn(
            f"Life's kernel can't be compiled for {device} ({type(error).__name__}): roll is taken.", stacklevel=4
        )
        return False
    return True
