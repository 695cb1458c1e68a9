"""Pseudo-random darts of a second kind: word i is worked out from i and the seed alone, with no state to go through.

The generator is Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel random numbers: as easy
as 1, 2, 3* (2011). A counter of four 32-bit words and a key of two give four words.
"""

import numpy as np

from course import compiled
from course.pi.dart_places import BLOCK, inside, places

#: The multipliers of a round, and what is added to the key after each.
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10


def count(seed: int, first: int, last: int) -> int:
    """Return how many of the darts `first` ≤ i < `last` fall inside the disc; `first` begins a block.

    Dart i is word i mod 4 of the counter i // 4.
    """
    if not compiled.available():
        return numpy_count(seed, first, last)
    from course.pi import kernels

    return int(kernels.philox(*keys(seed).astype(np.uint64), first, last))


def numpy_count(seed: int, first: int, last: int) -> int:
    """Return what `count` does, without compiled code: the reference."""
    return sum(inside(words(seed, start, min(start + BLOCK, last))) for start in range(first, last, BLOCK))


def points(seed: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same darts as float64 arrays (x, y), 0 < x, y < 1."""
    return places(words(seed, first, last))


def words(seed: int, first: int, last: int) -> np.ndarray:
    """Return the words of darts `first` ≤ i < `last`, uint32; `first` is a multiple of 4."""
    index = np.arange(first // 4, -(-last // 4), dtype=np.uint64)
    zero = np.zeros_like(index)
    four = _philox([index & np.uint64(0xFFFFFFFF), index >> np.uint64(32), zero, zero], keys(seed))
    return np.stack(four, axis=1).astype(np.uint32).ravel()[: last - first]


def keys(seed: int) -> np.ndarray:
    """Return the key of a seed: uint32 (2,)."""
    return np.random.SeedSequence(seed).generate_state(2, np.uint32)


def _philox(counter, key):
    # four words of a counter, each an array of uint64, which holds a product of two 32-bit words
    a, b, c, d = counter
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    k, m = map(int, key)
    for _ in range(ROUNDS):
        from_a, from_c = a * np.uint64(MULTIPLIERS[0]), c * np.uint64(MULTIPLIERS[1])
        a, b, c, d = from_c >> half ^ b ^ np.uint64(k), from_c & low, from_a >> half ^ d ^ np.uint64(m), from_a & low
        k, m = (k + WEYL[0]) & 0xFFFFFFFF, (m + WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d
