"""Pseudo-random darts. Dart i is decided by (seed, i) alone, so any process can throw any range of them.

The generator is xoshiro128+ of D. Blackman and S. Vigna, *Scrambled linear pseudorandom number generators* (2021), in
128 lanes side by side, as wide as the processor's vectors and wider. The lanes' states are words of SplitMix64 (G.
Steele, D. Lea, C. Flood, 2014).
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from course import compiled
from course.pi.dart_places import BLOCK, inside, inside_exactly, places

#: Generators side by side: dart i of a block is the word of lane i mod 128, step i // 128.
LANES = 128
_TOGETHER = 64  # blocks that numpy takes at a time: its arrays (32 kB) stay in the processor's first cache
_MASK = (1 << 64) - 1


def count(seed: int, first: int, last: int) -> int:
    """Return how many of the darts `first` ≤ i < `last` fall inside the disc; `first` begins a block."""
    if not compiled.available():
        return sum(inside(word) for word in _steps(keys(seed), first, last))
    from course.pi import kernels

    return int(kernels.pseudo(*keys(seed), first, last))


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


def slow_count(seed: int, first: int, last: int) -> int:
    """Return what `count` does, in plain Python: the reference."""
    total = 0
    for block in range(first // BLOCK, -(-last // BLOCK)):
        darts = min(last, (block + 1) * BLOCK) - block * BLOCK
        total += sum(map(inside_exactly, islice(slow_words(seed, block), darts)))
    return total


def slow_words(seed: int, block: int) -> Iterator[int]:
    """Yield block `block`'s 32-bit words in plain Python."""
    low, high = map(int, keys(seed))
    lanes = [slow_state(low, high, block * LANES + lane) for lane in range(LANES)]
    while True:
        for state in lanes:
            yield slow_step(state)


def slow_state(low: int, high: int, index: int) -> list[int]:
    """Return the first state, four 32-bit words, of a lane: `index` counts all lanes of all blocks."""
    first, second = slow_splitmix(low, index), slow_splitmix(high, index)
    return [first & 0xFFFFFFFF, first >> 32, second & 0xFFFFFFFF, second >> 32]


def slow_splitmix(key: int, index: int) -> int:
    """Return the 64-bit word `index` of SplitMix64 that began at `key`."""
    word = (key + index * 0x9E3779B97F4A7C15) & _MASK
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _MASK
    return word ^ word >> 31


def slow_step(state: list[int]) -> int:
    """Return the 32-bit word of `state`, and move it on by one step of xoshiro128+, as its authors' C does."""
    word = (state[0] + state[3]) & 0xFFFFFFFF
    shifted = state[1] << 9 & 0xFFFFFFFF
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << 11 | state[3] >> 21) & 0xFFFFFFFF
    return word


def _steps(two, first, last):
    # numpy's way: a step of all lanes of many blocks at a time; the last block may end early, within a step
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
    word = key + index * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _move_on(state):
    shifted = state[1] << 9
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = state[3] << 11 | state[3] >> 21
