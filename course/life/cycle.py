"""Does a board ever repeat? Remember a fingerprint of every generation and stop at the first that was seen before."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch

from course.life.rule import Rule
from course.life.run import frames, run


@dataclass(frozen=True)
class Cycle:
    """Generation `start` is the first state met again, `period` generations later."""

    start: int
    period: int


def find_cycle(
    board: torch.Tensor, limit: int = 10_000, rule: str | Rule = "B3/S23", wrap: bool = True
) -> Cycle | None:
    """Return the `Cycle` that `board` falls into within `limit` generations, or None. `board` is not changed.

    A still life has period 1, as has the empty board. Memory: about 100 bytes a generation.

    >>> from course.life import empty, pattern, put
    >>> find_cycle(put(empty(8, 8), pattern("glider")))
    Cycle(start=0, period=32)
    """
    seen: dict[bytes, list[int]] = {}
    for generation, state in enumerate(frames(board, limit, rule, wrap)):
        alike = seen.setdefault(_fingerprint(state), [])
        for start in alike:
            # Two different boards with one fingerprint would be a discovery; replaying makes the answer certain.
            if torch.equal(run(board, start, rule=rule, wrap=wrap), state):
                return Cycle(start, generation - start)
        alike.append(generation)
    return None


def _fingerprint(board):
    return hashlib.blake2b(np.packbits(board.numpy(force=True)), digest_size=16).digest()
