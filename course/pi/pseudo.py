"""Pseudo-random darts. Dart i is decided by (seed, i) alone, so any process can throw any range of them.

The generator is xoshiro128+ of D. Blackman and S. Vigna, *Scrambled linear pseudorandom number generators* (2021), in
128 lanes side by side, as wide as the processor's vectors and wider. The lanes' states are words of SplitMix64 (G.
Steele, D. Lea, C. Flood, 2014).
"""

import numpy as np

from course import compiled
from course.pi.dart_places import BLOCK, inside, places

#: Generators side by side: dart i of a block is the word of lane i mod 128, step i // 128.
LANES = 128
_TOGETHER = 64  # blocks that numpy takes at a time: its arrays (32 kB) stay in the processor's first cache


def count(seed: int, first: int, last: int) -> int:
    """Return how many of the darts `first` ≤ i < `last` fall inside the disc; `first` begins a block."""
    if not compiled.available():
        return numpy_count(seed, first, last)
    from course.pi import kernels

    return int(kernels.pseudo(*keys(seed), first, last))


def numpy_count(seed: int, first: int, last: int) -> int:
    """Return what `count` does, without compiled code: the reference."""
    return sum(inside(word) for word in _steps(keys(seed), first, last))


def points(seed: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same darts as float64 arrays (x, y), 0 < x, y < 1."""
    return places(words(seed, first, last))


def words(seed: int, first: int, last: int, *spawn: int) -> np.ndarray:
    """Return the words of darts `first` ≤ i < `last`, uint32; all are in one block, which `first` begins."""
    return np.concatenate([word.ravel() for word in _steps(keys(seed, *spawn), first, last)])


def keys(seed: int, *spawn: int) -> np.ndarray:
    """Return two 64-bit keys, an even and an odd one, where SplitMix64 begins for a seed."""
    two = np.random.SeedSequence(seed, spawn_key=spawn).generate_state(2, np.uint64)
    # SplitMix64 gives the word 0 at one number only; two words of one index are never both 0, which xoshiro can't leave
    return two & ~np.uint64(1) | np.array([0, 1], np.uint64)


def _steps(two, first, last):
    # a step of all lanes of many blocks at a time; the last block may end early, within a step
    whole = last // BLOCK
    for block in range(first // BLOCK, whole, _TOGETHER):
        yield from _block_steps(two, np.arange(block, min(block + _TOGETHER, whole)), BLOCK)
    if last > max(first, whole * BLOCK):
        yield from _block_steps(two, np.array([whole]), last - whole * BLOCK)


def _block_steps(two, blocks, darts):
    # arrays (blocks, lanes), one a step
    index = blocks[:, None].astype(np.uint64) * np.uint64(LANES) + np.arange(LANES, dtype=np.uint64)
    state = [half for key in two for word in [_splitmix(key, index)] for half in (word, word >> np.uint64(32))]
    state = [half.astype(np.uint32) for half in state]
    for start in range(0, darts, LANES):
        yield (state[0] + state[3])[:, : darts - start]
        _move_on(state)


def _splitmix(key, index):
    # the words `index` (uint64) of SplitMix64 that began at `key`
    word = key + index * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _move_on(state):
    # one step of xoshiro128+ for four arrays of 32-bit words, as its authors' C does it
    shifted = state[1] << 9
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = state[3] << 11 | state[3] >> 21
