"""Many generations: one function, five engines, the same cells from each; and whether a board ever repeats."""

import difflib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from course import compiled
from course.life import packed as packing
from course.life import whole_board
from course.life.board import check_board, check_form
from course.life.op import step
from course.life.packed import packed
from course.life.packed_torch import fits, packed_torch
from course.life.rule import Rule


def run(
    board: torch.Tensor, generations: int, engine: str = "auto", rule: str | Rule = "B3/S23", wrap: bool = True
) -> torch.Tensor:
    """Return `board` after `generations` of `rule`, a new board; the given one is not changed.

    `board` is `torch.uint8` (H, W) of 0 and 1. `engine` is "scipy" (the registered op), "conv", "roll", "packed" (64
    cells a word, compiled), "packed-torch" (the same in PyTorch), or "auto", which takes the fastest for the board's
    size and the generations. All give the same result. A process that is forked from this one later computes on one
    thread, because torch's threads don't survive a fork.
    """
    advance, rule = _chosen(board, generations, engine, rule)
    return advance(board, generations, rule, wrap) if generations else board.clone()


def frames(
    board: torch.Tensor, generations: int, rule: str | Rule = "B3/S23", wrap: bool = True, engine: str = "auto"
) -> Iterator[torch.Tensor]:
    """Yield `board` and the `generations` boards that follow it, one by one."""
    advance, rule = _chosen(board, 1, engine, rule)
    yield board.clone()
    for generation in range(1, generations + 1):
        if engine == "auto" and generation & (generation - 1) == 0:  # 1, 2, 4, 8, …: as many again may be asked for,
            advance = ENGINES[_fastest(board, 1, min(generation, generations - generation + 1))]  # and pay for a start
        board = advance(board, 1, rule, wrap)
        yield board


@dataclass(frozen=True)
class Cycle:
    """Generation `start` is the first state met again, `period` generations later."""

    start: int
    period: int


def find_cycle(
    board: torch.Tensor, limit: int = 10_000, rule: str | Rule = "B3/S23", wrap: bool = True
) -> Cycle | None:
    """Return the `Cycle` that `board` falls into within `limit` generations, or None. `board` is not changed.

    A still life has period 1, as has the empty board. Memory: a fingerprint, about 200 bytes a generation.

    >>> from course.life import empty, pattern, put
    >>> find_cycle(put(empty(8, 8), pattern("glider")))
    Cycle(start=0, period=32)
    """
    generations_of: dict[bytes, list[int]] = {}
    for generation, state in enumerate(frames(board, limit, rule, wrap)):
        alike = generations_of.setdefault(_fingerprint(state), [])
        for start in alike:
            # Two different boards with one fingerprint would be a discovery; replaying makes the answer certain.
            if torch.equal(run(board, start, rule=rule, wrap=wrap), state):
                return Cycle(start, generation - start)
        alike.append(generation)
    return None


def _fingerprint(board):
    return hashlib.sha256(np.packbits(board.numpy(force=True))).digest()


def _chosen(board, generations, engine, rule):
    """Return the engine's function and the parsed rule; an error names what is wrong."""
    check_form(board, "run(board=…)")
    compiled.let_forked_children_compute()
    if not isinstance(generations, int) or generations < 0:
        raise ValueError(f"run(generations={generations!r}): a whole number of generations is needed, 0 or more.")
    if engine == "auto":
        engine = _fastest(board, generations)
    if engine not in ENGINES:
        (near,) = difflib.get_close_matches(str(engine), ENGINES, n=1, cutoff=0)
        raise ValueError(f"run(engine={engine!r}): the engines are auto, {', '.join(ENGINES)}. Nearest: {near!r}.")
    if engine != "packed" or not generations:  # it looks at the cells as it packs them
        check_board(board, "run(board=…)")
    return ENGINES[engine], Rule.parse(rule)


def _fastest(board, generations, calls=1):
    """Return the engine that takes least time for some calls of so many generations, its own start included.

    Measured on two cores: `roll` takes 60 µs and 1.5 ns a cell for a generation, `packed-torch` 0.3 ns a cell on large
    boards, and the kernels half a second to be read from the disk, once a process.
    """
    cells = board.numel()
    if board.device.type != "cpu":
        return "packed" if packing.on_gpu(board) and cells * generations >= 1 << 30 else "roll"
    large = cells >= 1 << 16 and cells * generations >= 1 << 19
    seconds = calls * generations * (cells * 0.3e-9 if large else 60e-6 + cells * 1.5e-9)
    if packing.loaded() or seconds > 0.5:
        return "packed"
    return "packed-torch" if large and fits(board) else "roll"


def _scipy(board, generations, rule, wrap):
    for _ in range(generations):
        board = step(board, rule, wrap)
    return board


ENGINES = {
    "scipy": _scipy,
    "conv": whole_board.conv,
    "roll": whole_board.roll,
    "packed-torch": packed_torch,
    "packed": packed,
}
