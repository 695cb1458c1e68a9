"""The rule as a registered PyTorch op with a kernel for each sort of device: `torch.ops.course.life_step`, and `step`.

On the CPU SciPy counts the neighbours. SciPy can't reach a GPU's memory, so CUDA and MPS have a kernel in torch's own
ops, which PyTorch picks by where the board lies. Without it, a board on a GPU would meet "Could not run ... 'CUDA'
backend". Every kernel equals `reference_step`: a set of living cells, their neighbours counted one by one.
"""

from collections import Counter
from functools import cache

import torch

from course.life.board import check_board
from course.life.edges import neighbours
from course.life.rule import Rule
from course.life.whole_board import roll
from course.signals import held_back


def step(board: torch.Tensor, rule: str | Rule = "B3/S23", wrap: bool = True) -> torch.Tensor:
    """Return the next generation of `board`, a new board.

    `board` is `torch.uint8` (H, W) of 0 and 1 on the CPU, CUDA or MPS; the result is on the same device, computed
    there. `rule` is a string such as "B36/S23"; edges meet (a torus) unless `wrap` is False, when all outside is dead.

    It has no gradient: a cell is 0 or 1, and nothing lies between. torch refuses `requires_grad` on a uint8 board, and
    this refuses any other dtype, so no gradient can be asked for and silently be none.

    >>> step(torch.tensor([[0, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=torch.uint8), wrap=False).tolist()
    [[0, 1, 0], [0, 1, 0], [0, 1, 0]]
    """
    return torch.ops.course.life_step(board, str(rule), wrap)


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


@cache
def _convolve2d():
    with held_back():
        from scipy.signal import convolve2d
    return convolve2d


@torch.library.custom_op("course::life_step", mutates_args=(), device_types="cpu")
def life_step(board: torch.Tensor, rule: str, wrap: bool) -> torch.Tensor:
    """The CPU's kernel: SciPy counts the neighbours, the rule decides."""
    check_board(board, "step(board=…)")
    wanted = Rule.parse(rule)
    cells = board.numpy()
    counts = _convolve2d()(cells, [[1, 1, 1], [1, 0, 1], [1, 1, 1]], mode="same", boundary="wrap" if wrap else "fill")
    following = wanted.apply(cells.astype(bool), lambda k: counts == k)
    return torch.from_numpy(following.astype("uint8"))


@life_step.register_kernel(("cuda", "mps"))
def life_step_in_torch(board: torch.Tensor, rule: str, wrap: bool) -> torch.Tensor:
    """The kernel of CUDA and MPS: shifted boards added up, wherever `board` lies; the same cells as SciPy's."""
    check_board(board, "step(board=…)")
    return roll(board, 1, Rule.parse(rule), wrap)


@life_step.register_fake
def _(board, rule, wrap):
    # All that torch.compile has to know: a board gives a board of the same shape, dtype and device.
    return torch.empty_like(board)
