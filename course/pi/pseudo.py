"""Pseudo-random darts. Dart i is decided by (seed, i) alone, so any process can throw any range of them."""

from collections.abc import Iterator

import numpy as np

#: Darts a stream; a part is a range of blocks. Larger ones share less evenly, smaller ones spend their time seeding.
BLOCK = 1 << 16
_CHUNK = 1 << 14  # darts at a time: their arrays (64 kB each) stay in the processor's second cache
_RADIUS_SQUARED = 1 << 30


def count(seed: int, first: int, last: int) -> int:
    """Return how many of the darts `first` ≤ i < `last` fall inside the disc; `first` begins a block.

    Block k has a stream of its own, `SFC64(SeedSequence(seed, spawn_key=(k,)))`. A dart takes 32 bits of it: u and v,
    signed, 16 bits each, for the point (u + ½, v + ½) / 2¹⁵. Inside is (u + ½)² + (v + ½)² < 2³⁰, or in whole numbers
    u(u + 1) + v(v + 1) < 2³⁰. The pi of this lattice is 1.7e-7 too small: one standard error at 10¹⁴ darts.
    """
    work = np.empty((3, _CHUNK), np.int32)
    return sum(_inside(bits, work) for bits in _chunks(seed, first, last))


def points(seed: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same darts as float64 arrays (x, y), folded onto the quarter 0 < x, y < 1."""
    bits = np.concatenate([chunk.copy() for chunk in _chunks(seed, first, last)])
    u, v = (bits << 16) >> 16, bits >> 16
    return np.abs(u + 0.5) / 2**15, np.abs(v + 0.5) / 2**15


def slow_count(seed: int, first: int, last: int) -> int:
    """Return what `count` does, in plain Python: the reference."""
    inside = 0
    for block in range(first // BLOCK, -(-last // BLOCK)):
        words = slow_words(seed, block)
        for index in range(block * BLOCK, min(last, (block + 1) * BLOCK), 2):
            word = next(words)
            for bits in (word & 0xFFFFFFFF, word >> 32)[: last - index]:
                u, v = (half - 0x10000 if half & 0x8000 else half for half in (bits & 0xFFFF, bits >> 16))
                inside += (u + 0.5) ** 2 + (v + 0.5) ** 2 < 2**30
    return inside


def slow_words(seed: int, block: int) -> Iterator[int]:
    """Yield block `block`'s 64-bit words: SFC64 (C. Doty-Humphrey, 2010) in plain Python."""
    a, b, c = map(int, np.random.SeedSequence(seed, spawn_key=(block,)).generate_state(3, np.uint64))
    mask = (1 << 64) - 1
    counter = 0
    while True:
        counter += 1
        word = (a + b + counter) & mask
        a = b ^ (b >> 11)
        b = (c + (c << 3)) & mask
        c = ((c << 24 | c >> 40) + word) & mask
        if counter > 12:  # the first twelve words mix the seed and are thrown away
            yield word


def _inside(bits, work):
    u, v, spare = work[:, : len(bits)]
    np.right_shift(bits, 16, out=v)
    np.left_shift(bits, 16, out=u)
    np.right_shift(u, 16, out=u)
    for half in (u, v):
        np.add(half, 1, out=spare)
        np.multiply(half, spare, out=half)
    np.add(u, v, out=u)  # at most 2³¹ - 2¹⁶: no overflow
    return int(np.count_nonzero(u < _RADIUS_SQUARED))


def _chunks(seed, first, last):
    # pieces of a block, as int32: one dart each
    for block in range(first // BLOCK, -(-last // BLOCK)):
        stream = np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(block,)))
        for start in range(block * BLOCK, min(last, (block + 1) * BLOCK), _CHUNK):
            darts = min(_CHUNK, last - start)
            yield stream.random_raw(darts + 1 >> 1).astype("<u8", copy=False).view("<i4")[:darts]
