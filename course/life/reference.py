"""The slow specification: a set of living cells, their neighbours counted one by one. Every engine equals this."""

from collections import Counter

import torch

from course.life.board import check_board
from course.life.rule import Rule


def reference_step(board: torch.Tensor, rule: str | Rule = "B3/S23", wrap: bool = True) -> torch.Tensor:
    """Return the next generation of `board` (uint8 (H, W)), a new board, by counting cell by cell in plain Python.

    On a torus one or two cells wide a cell is its neighbour's neighbour more than once, and itself its own: it counts
    as often as it is met.
    """
    check_board(board, "reference_step(board=…)")
    rule = Rule.parse(rule)
    height, width = board.shape
    living = {(r, c) for r, row in enumerate(board.tolist()) for c, cell in enumerate(row) if cell}
    counts = Counter(cell for place in living for cell in neighbours(place, height, width, wrap))

    def lives(cell):
        return counts[cell] in (rule.survive if cell in living else rule.birth)

    following = [[int(lives((row, column))) for column in range(width)] for row in range(height)]
    return torch.tensor(following, dtype=torch.uint8, device=board.device)


def neighbours(cell: tuple[int, int], height: int, width: int, wrap: bool = True) -> list[tuple[int, int]]:
    """Return the list of the cells around `cell`: eight on a torus, fewer at the edges of a board that doesn't wrap."""
    row, column = cell
    around = [(row + dr, column + dc) for dr in (-1, 0, 1) for dc in (-1, 0, 1) if (dr, dc) != (0, 0)]
    if wrap:
        return [(r % height, c % width) for r, c in around]
    return [(r, c) for r, c in around if 0 <= r < height and 0 <= c < width]
