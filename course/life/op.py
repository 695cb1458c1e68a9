"""The rule as a registered PyTorch op around SciPy: `torch.ops.course.life_step`, and `step`, which calls it."""

import torch

from course.life.board import check_board
from course.life.rule import Rule


def step(board, rule="B3/S23", wrap=True):
    """Return the next generation of `board`, a new board.

    `board` is `torch.uint8` (H, W) of 0 and 1 on any device; the result is on the same one, computed on the CPU.
    `rule` is a string such as "B36/S23"; edges meet (a torus) unless `wrap` is False, when all outside is dead.

    >>> step(torch.tensor([[0, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=torch.uint8), wrap=False).tolist()
    [[0, 1, 0], [0, 1, 0], [0, 1, 0]]
    """
    return torch.ops.course.life_step(board, str(rule), wrap)


@torch.library.custom_op("course::life_step", mutates_args=())
def life_step(board: torch.Tensor, rule: str, wrap: bool) -> torch.Tensor:
    """The body PyTorch runs: SciPy counts the neighbours, the rule decides."""
    from scipy.signal import convolve2d

    check_board(board, "step(board=…)")
    wanted = Rule.parse(rule)
    cells = board.numpy(force=True)
    counts = convolve2d(cells, [[1, 1, 1], [1, 0, 1], [1, 1, 1]], mode="same", boundary="wrap" if wrap else "fill")
    following = wanted.apply(cells.astype(bool), lambda k: counts == k)
    return torch.from_numpy(following.astype("uint8")).to(board.device)


@life_step.register_fake
def _(board, rule, wrap):
    # All that torch.compile has to know: a board gives a board of the same shape, dtype and device.
    return torch.empty_like(board)
