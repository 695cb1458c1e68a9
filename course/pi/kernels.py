"""The compiled counts of darts: numba, serial, without Python's lock. Each has a slow twin beside its darts' definition.

Every step of a 32-bit sum is cast back: to numba uint32 + uint32 is a uint64, whose upper half would stay.
"""

import numpy as np

from course.compiled import kernel
from course.pi.pseudo import BLOCK, LANES

u32, u64, i32 = np.uint32, np.uint64, np.int32


@kernel()
def splitmix(key, index):
    """Return the 64-bit word `index` of SplitMix64 that began at `key`."""
    word = key + index * u64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> u64(27))) * u64(0x94D049BB133111EB)
    return word ^ (word >> u64(31))


@kernel()
def seed_lanes(low, high, block, s0, s1, s2, s3):
    """Fill the states (LANES,) with those of block `block`."""
    for lane in range(LANES):
        index = u64(block) * u64(LANES) + u64(lane)
        first, second = splitmix(low, index), splitmix(high, index)
        s0[lane], s1[lane] = u32(first), u32(first >> u64(32))
        s2[lane], s3[lane] = u32(second), u32(second >> u64(32))


@kernel()
def step(a, b, c, d):
    """Return the next state and the word of this one: xoshiro128+."""
    word = u32(a + d)
    shifted = u32(b << u32(9))
    c, d = u32(c ^ a), u32(d ^ b)
    b, a = u32(b ^ c), u32(a ^ d)
    return a, b, u32(c ^ shifted), u32(u32(d << u32(11)) | u32(d >> u32(21))), word


@kernel()
def inside(word):
    """Return 1 where the dart of a 32-bit word is inside, else 0, as int32."""
    u, v = i32(i32(word) >> i32(16)), i32(i32(u32(word << u32(16))) >> i32(16))
    return i32(i32(i32(u * i32(u + i32(1))) + i32(v * i32(v + i32(1)))) < i32(1 << 30))


@kernel()
def pseudo(low, high, first, last):
    """Return how many darts `first` ≤ i < `last` of the two keys are inside; `first` begins a block."""
    s0, s1 = np.empty(LANES, u32), np.empty(LANES, u32)
    s2, s3 = np.empty(LANES, u32), np.empty(LANES, u32)
    counts = np.zeros(LANES, i32)
    total = 0
    for start in range(first, last, BLOCK):
        darts = min(last - start, BLOCK)
        seed_lanes(low, high, start // BLOCK, s0, s1, s2, s3)
        counts[:] = 0
        # two steps a lane between a load and a store of its state: what waits is memory, not arithmetic
        for _ in range(darts // (2 * LANES)):
            for lane in range(LANES):
                a, b, c, d, one = step(s0[lane], s1[lane], s2[lane], s3[lane])
                a, b, c, d, two = step(a, b, c, d)
                s0[lane], s1[lane], s2[lane], s3[lane] = a, b, c, d
                counts[lane] += inside(one) + inside(two)
        total += counts.sum()
        for lane in range(min(darts % (2 * LANES), LANES)):
            a, b, c, d, one = step(s0[lane], s1[lane], s2[lane], s3[lane])
            total += inside(one)
            if lane + LANES < darts % (2 * LANES):
                total += inside(step(a, b, c, d)[4])
    return total
