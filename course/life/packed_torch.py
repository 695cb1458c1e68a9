"""64 cells in a word, in PyTorch alone: one bitwise operation decides about 64 cells at once.

Layout: a board of H rows is cut into L bands of R = H / L rows (L the largest divisor of H up to 64), and bit j of word
(i, c) is cell (j·R + i, c). A neighbour above, below or beside is then the neighbouring *word*, the same bit: no shifts
inside words, except at the seam where band j ends and band j + 1 begins, which is a rotation by one bit.
"""

import torch
from torch.nn.functional import pad

from course.life.edges import with_ghosts
from course.life.rule import Rule
from course.life.sums import Scratch, advance

GENERATIONS_A_PASS = 8  # ghost cells are computed twice, but a pass copies the board
TILE_ROWS, TILE_COLUMNS = 128, 1024  # small enough for the processor's cache, large enough for torch's threads


def packed_torch(board: torch.Tensor, generations: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return `board` after `generations`; falls back to the `roll` engine where the layout doesn't fit the board."""
    if lanes(board.shape[0]) < lanes(board.shape[1]):
        # Life doesn't know rows from columns, so the side that divides better is cut into bands.
        return packed_torch(board.T, generations, rule, wrap).T.contiguous()
    if not fits(board):
        from course.life.whole_board import roll

        return roll(board, generations, rule, wrap)
    words = pack(board)
    words = run_words(words, generations, rule, wrap, lanes(board.shape[0]))
    return unpack(words, lanes(board.shape[0])).to(board.device)


def fits(board: torch.Tensor) -> bool:
    """Return whether a side of the board divides into at least 8 bands, so that packing saves something."""
    return max(map(lanes, board.shape)) >= 8


def lanes(height: int) -> int:
    """Return L, the number of bands a board of `height` rows is cut into: its largest divisor up to 64.

    >>> lanes(1024), lanes(50), lanes(127)
    (64, 50, 1)
    """
    return max(d for d in range(1, 65) if height % d == 0)


def pack(board: torch.Tensor) -> torch.Tensor:
    """Return the words of `board`: `torch.int64` (H / L, W) on the CPU."""
    height, width = board.shape
    bands = pad(board.cpu().reshape(lanes(height), -1), (0, 0, 0, 64 - lanes(height))).view(8, 8, -1)
    eighths = torch.zeros_like(bands[:, 0])  # byte k of every word holds bands 8k to 8k + 7
    for bit in range(8):
        eighths |= bands[:, bit] << bit
    # the lowest byte of a word comes first in memory, as on every machine torch supports
    return eighths.T.reshape(-1).view(torch.int64).view(-1, width)


def unpack(words: torch.Tensor, count: int) -> torch.Tensor:
    """Return the board, `torch.uint8` (H, W), that `count` bands in `words` hold."""
    eighths = words.view(-1, 1).view(torch.uint8).T.contiguous()
    bands = [(eighths >> bit) & 1 for bit in range(8)]
    return torch.stack(bands, dim=1).view(64, -1)[:count].reshape(-1, words.shape[1])


def run_words(words: torch.Tensor, generations: int, rule: Rule, wrap: bool, count: int) -> torch.Tensor:
    """Advance the packed board `words` (changed in place) and return it; bits that hold no band end up meaningless.

    Each pass surrounds the board with `k` ghost cells, copies of what lies beyond the edge, and computes `k`
    generations before it looks at the edges again: wrong values creep in from the rim by one cell a generation and stop
    short of the board. A board that doesn't wrap must have its outside killed every time, so there k is 1.
    """
    longest = max(1, min(GENERATIONS_A_PASS, min(words.shape) // 4))  # a flat board would be mostly ghosts
    scratch = Scratch()
    while generations:
        k = min(generations, longest) if wrap else 1
        around = with_ghosts(words, k, wrap, count)
        for row in range(0, len(words), TILE_ROWS):
            for column in range(0, words.shape[1], TILE_COLUMNS):
                own = words[row : row + TILE_ROWS, column : column + TILE_COLUMNS]
                height, width = own.shape
                tile = around[row : row + height + 2 * k, column : column + width + 2 * k]
                tile = tile.clone(memory_format=torch.contiguous_format)  # its rim is the next tile's: never in place
                advance(tile, k, rule, scratch)
                own.copy_(tile[k:-k, k:-k])
        generations -= k
    return words
