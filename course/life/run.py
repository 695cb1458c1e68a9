"""Many generations: one function, four engines, the same cells from each."""

import difflib
from collections.abc import Iterator

import torch

from course.life import packed, whole_board
from course.life.board import check_board
from course.life.op import step
from course.life.rule import Rule


def run(
    board: torch.Tensor, generations: int, engine: str = "auto", rule: str | Rule = "B3/S23", wrap: bool = True
) -> torch.Tensor:
    """Return `board` after `generations` of `rule`, a new board; the given one is not changed.

    `board` is `torch.uint8` (H, W) of 0 and 1. `engine` is "scipy" (the registered op), "conv", "roll", "packed" (64
    cells a word), or "auto", which takes the fastest for the board's size. All give the same result.
    """
    advance, rule = _chosen(board, generations, engine, rule)
    return advance(board, generations, rule, wrap).clone()


def frames(
    board: torch.Tensor, generations: int, rule: str | Rule = "B3/S23", wrap: bool = True, engine: str = "auto"
) -> Iterator[torch.Tensor]:
    """Yield `board` and the `generations` boards that follow it, one by one."""
    advance, rule = _chosen(board, 1, engine, rule)
    yield board.clone()
    for _ in range(generations):
        board = advance(board, 1, rule, wrap)
        yield board


def _chosen(board, generations, engine, rule):
    """Return the engine's function and the parsed rule; an error names what is wrong."""
    check_board(board, "run(board=…)")
    if not isinstance(generations, int) or generations < 0:
        raise ValueError(f"run(generations={generations!r}): a whole number of generations is needed, 0 or more.")
    if engine == "auto":
        engine = "packed" if _worth_packing(board, generations) else "roll"
    if engine not in ENGINES:
        near = difflib.get_close_matches(str(engine), ENGINES, n=1, cutoff=0)[0]
        raise ValueError(f"run(engine={engine!r}): the engines are auto, {', '.join(ENGINES)}. Nearest: {near!r}.")
    return ENGINES[engine], Rule.parse(rule)


def _worth_packing(board, generations):
    # measured on two cores: below these sizes, packing costs more than it saves; it is for the CPU only
    large = board.numel() >= 1 << 16 and board.numel() * generations >= 1 << 19
    return large and board.device.type == "cpu" and packed.fits(board)


def _scipy(board, generations, rule, wrap):
    for _ in range(generations):
        board = step(board, rule, wrap)
    return board


ENGINES = {"scipy": _scipy, "conv": whole_board.conv, "roll": whole_board.roll, "packed": packed.packed}
