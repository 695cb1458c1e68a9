"""The two compiled loops of `limits.py`: one only computes, one only reads. Imported where they are called."""

import numpy as np

from course.compiled import kernel


@kernel()
def operate(words: np.ndarray, rounds: int) -> None:
    """Do 16 operations with each column of `words` (2, lanes), unsigned, in place, `rounds` times.

    Additions and exclusive ors take turns: nothing that a compiler could do in one instruction, or leave out.
    """
    number = words.dtype.type  # without it numba would add in 64 bits
    first, second = words[0].copy(), words[1].copy()
    for _ in range(rounds):
        for lane in range(first.size):
            x, y = first[lane], second[lane]
            for _ in range(8):
                x = number(x + y)
                y = y ^ x
            first[lane], second[lane] = x, y
    words[0], words[1] = first, second


@kernel()
def read(words: np.ndarray) -> np.uint64:
    """Return the or of all `words` (uint64): every one is read, and nothing else is done."""
    found = np.uint64(0)
    for index in range(words.size):
        found |= words[index]
    return found
