"""What lies beyond the edges of a board: its other side on a torus (`wrap`), dead cells otherwise.

`neighbours` says it cell by cell, and every engine's edges equal it. Rolling wraps, so `roll` needs no border on a
torus. Two engines handle edges in the layout of their words: the compiled one in `load`, `close_rows` and
`close_columns` of `course.life.kernels`, that of a GPU in `next_words` of `course.life.packed_gpu`.
"""

import torch
from torch.nn.functional import pad


def neighbours(cell: tuple[int, int], height: int, width: int, wrap: bool = True) -> list[tuple[int, int]]:
    """Return the list of the cells around `cell`: eight on a torus, fewer at the edges of a board that doesn't wrap."""
    row, column = cell
    block = [(r, c) for r in (row - 1, row, row + 1) for c in (column - 1, column, column + 1)]
    around = [place for place in block if place != (row, column)]
    if wrap:
        return [(r % height, c % width) for r, c in around]
    return [(r, c) for r, c in around if 0 <= r < height and 0 <= c < width]


def with_ghosts(words: torch.Tensor, k: int, wrap: bool, count: int) -> torch.Tensor:
    """Return `words`, (R, W), with `k` more rows above and below and `k` more columns left and right: (R + 2k, W + 2k).

    `k` is at most R and W: beyond the first row of a band lie the last rows of the band before it, and so on.
    """
    tall = torch.cat([_of_the_band_before(words[-k:], wrap, count), words, _of_the_band_after(words[:k], wrap, count)])
    return torch.cat([tall[:, -k:], tall, tall[:, :k]], dim=1) if wrap else pad(tall, (k, k))


def _of_the_band_before(words, wrap, count):
    """Return `words` with bit j - 1 in place of bit j; in place of bit 0 the last band's, or none."""
    moved = words << 1
    return moved | (words >> (count - 1)) & 1 if wrap else moved


def _of_the_band_after(words, wrap, count):
    """Return `words` with bit j + 1 in place of bit j; in place of the last band's bit 0, or none."""
    moved = (words >> 1) & ((1 << (count - 1)) - 1)  # neither the sign nor what lies beyond the last band moves in
    return moved | (words & 1) << (count - 1) if wrap else moved
