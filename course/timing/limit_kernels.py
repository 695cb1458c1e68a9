"""The compiled loops of `limits.py`: two only compute, one only reads. Imported where they are called."""

import numpy as np

from course.compiled import kernel


@kernel()
def add(words: np.ndarray, rounds: int) -> None:
    """Do 16 additions and exclusive ors in turn with each column of `words` (8, lanes), in place, `rounds` times.

    Nothing that a compiler could do in one instruction, or leave out.
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
def combine(words: np.ndarray, rounds: int) -> None:
    """Do 16 ands and exclusive ors with each column of `words` (8, lanes), in place, `rounds` times.

    An and with the exclusive or after it are one instruction where a processor has it (AVX-512's `vpternlog`).
    """
    p, q, r, s = words[0].copy(), words[1].copy(), words[2].copy(), words[3].copy()
    t, u, v, w = words[4].copy(), words[5].copy(), words[6].copy(), words[7].copy()
    for _ in range(rounds):
        for i in range(p.size):
            a, b, c, d, e, f, g, h = p[i], q[i], r[i], s[i], t[i], u[i], v[i], w[i]
            for _ in range(8):
                a, b, c, d = (a & b) ^ d, (b & c) ^ e, (c & d) ^ f, (d & e) ^ g
                e, f, g, h = (e & f) ^ h, (f & g) ^ a, (g & h) ^ b, (h & a) ^ c
            p[i], q[i], r[i], s[i], t[i], u[i], v[i], w[i] = a, b, c, d, e, f, g, h
    words[0] = p ^ q ^ r ^ s ^ t ^ u ^ v ^ w  # all are used, so none can be left out


@kernel()
def read(words: np.ndarray) -> np.uint64:
    """Return the or of all `words` (uint64): every one is read, and nothing else is done."""
    combined = np.uint64(0)
    for index in range(words.size):
        combined |= words[index]
    return combined
