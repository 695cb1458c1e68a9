"""Two engines in plain PyTorch, one byte or one float a cell: `conv`, a convolution, and `roll`, eight shifted sums."""

import torch
from torch.nn.functional import conv2d, pad

from course.life.rule import Rule


def conv(board: torch.Tensor, generations: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return `board` after `generations`, neighbours counted by `torch.nn.functional.conv2d` in float32."""
    kernel = torch.tensor([[1.0, 1, 1], [1, 0, 1], [1, 1, 1]], device=board.device)[None, None]
    for _ in range(generations):
        around = pad(board[None, None].float(), (1, 1, 1, 1), mode="circular" if wrap else "constant")
        board = _decide(board, conv2d(around, kernel).view(board.shape), rule)
    return board


def roll(board: torch.Tensor, generations: int, rule: Rule, wrap: bool) -> torch.Tensor:
    """Return `board` after `generations`, neighbours counted in uint8 by sums of rolled boards."""
    for _ in range(generations):
        # A border of dead cells separates the edges of a board that doesn't wrap; it is cut off again below.
        padded = board if wrap else pad(board, (1, 1, 1, 1))
        threes = padded + padded.roll(1, 0) + padded.roll(-1, 0)
        counts = threes + threes.roll(1, 1) + threes.roll(-1, 1) - padded
        board = _decide(board, counts if wrap else counts[1:-1, 1:-1], rule)
    return board


def _decide(board, counts, rule):
    return rule.apply(board.bool(), lambda k: counts == k).to(torch.uint8)
