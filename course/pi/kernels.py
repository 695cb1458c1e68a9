"""The compiled counts of darts: numba, serial, without Python's lock. Each has a twin in its method's own file.

Every step of a 32-bit sum is cast back: to numba uint32 + uint32 is a uint64, whose upper half would stay.
"""

import numpy as np

from course.compiled import kernel

# Those of dart_places.py, pseudo.py and philox.py, written again (a test compares): compiled code is kept until this
# file changes.
BLOCK, LANES = 1 << 16, 128
MULTIPLIERS, WEYL, ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
# Sobol points whose low bits are in a table: 8 kB, in the processor's first cache.
TABLE_BITS = 10
TABLE = 1 << TABLE_BITS
LINE = 16  # 32-bit numbers in a cache line

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
def outside(word):
    """Return 0 where the dart of a 32-bit word is inside, else 1, as int32: bit 30 of a sum below 2³¹."""
    u, v = i32(word >> u32(17)), i32(word & u32(0x7FFF))
    return i32(i32(i32(i32(u * u) + i32(v * v)) + i32(u + v)) >> i32(30))


@kernel()
def pseudo(low, high, first, last):
    """Return how many darts `first` ≤ i < `last` of the two keys are inside; `first` begins a block."""
    # side by side from a cache line's start: a vector that straddles two lines takes twice as long
    room = np.empty(5 * LANES + LINE, u32)
    at = (LINE - room.ctypes.data // 4 % LINE) % LINE
    s0, s1 = room[at : at + LANES], room[at + LANES : at + 2 * LANES]
    s2, s3 = room[at + 2 * LANES : at + 3 * LANES], room[at + 3 * LANES : at + 4 * LANES]
    counts = room[at + 4 * LANES : at + 5 * LANES].view(i32)  # of darts outside
    total = last - first
    for start in range(first, last, BLOCK):
        darts = min(last - start, BLOCK)
        seed_lanes(low, high, start // BLOCK, s0, s1, s2, s3)
        for lane in range(LANES):
            counts[lane] = 0
        # two steps a lane between a load and a store of its state: what waits is memory, not arithmetic
        for _ in range(darts // (2 * LANES)):
            for lane in range(LANES):
                a, b, c, d, word = step(s0[lane], s1[lane], s2[lane], s3[lane])
                a, b, c, d, next_word = step(a, b, c, d)
                s0[lane], s1[lane], s2[lane], s3[lane] = a, b, c, d
                counts[lane] += outside(word) + outside(next_word)
        for lane in range(LANES):
            total -= counts[lane]
        for lane in range(min(darts % (2 * LANES), LANES)):
            a, b, c, d, word = step(s0[lane], s1[lane], s2[lane], s3[lane])
            total -= outside(word)
            if lane + LANES < darts % (2 * LANES):
                total -= outside(step(a, b, c, d)[4])
    return total


@kernel(inline="always")
def philox4x32(a, b, c, d, k, m):
    """Return the four words of the counter a, b, c, d and the key k, m: Philox4x32-10. All are uint64 below 2³²."""
    # in 64 bits throughout: words packed into 32 and unpacked for the next product take four times as long
    low = u64(0xFFFFFFFF)
    for _ in range(ROUNDS):
        from_a, from_c = u64(MULTIPLIERS[0]) * a, u64(MULTIPLIERS[1]) * c
        a, b = (from_c >> u64(32)) ^ b ^ k, from_c & low
        c, d = (from_a >> u64(32)) ^ d ^ m, from_a & low
        k, m = (k + u64(WEYL[0])) & low, (m + u64(WEYL[1])) & low
    return u32(a), u32(b), u32(c), u32(d)


@kernel()
def philox(k, m, first, last):
    """Return how many darts `first` ≤ i < `last` of the key k, m (uint64) are inside; `first` begins a block."""
    total = last - first
    for start in range(first, last, BLOCK):
        darts = min(last - start, BLOCK)
        low, high = u64(start // 4) & u64(0xFFFFFFFF), u64(start // 4) >> u64(32)
        missed = i32(0)
        for index in range(darts // 4):
            a, b, c, d = philox4x32(low + u64(index), high, u64(0), u64(0), k, m)
            missed = i32(missed + outside(a) + outside(b) + outside(c) + outside(d))
        four = philox4x32(low + u64(darts // 4), high, u64(0), u64(0), k, m)
        for rest in range(darts % 4):
            missed += outside(four[rest])
        total -= missed
    return total


@kernel()
def sobol(x_directions, y_directions, x_shift, y_shift, first, last):
    """Return how many Sobol points `first` ≤ i < `last` are inside; `first` begins a block. All uint32."""
    # point i is the XOR of the directions of its number's bits: those of the low bits in a table, for every 1024
    x_table, y_table = np.zeros(TABLE, u32), np.zeros(TABLE, u32)
    for bit in range(TABLE_BITS):
        for index in range(1 << bit):
            x_table[index + (1 << bit)] = x_table[index] ^ x_directions[bit]
            y_table[index + (1 << bit)] = y_table[index] ^ y_directions[bit]
    total = 0
    for start in range(first, last, TABLE):
        x_base, y_base = x_shift, y_shift
        for bit in range(TABLE_BITS, 32):
            if start >> bit & 1:
                x_base, y_base = u32(x_base ^ x_directions[bit]), u32(y_base ^ y_directions[bit])
        inside = i32(0)
        for index in range(min(last - start, TABLE)):
            x, y = u64(u32(x_table[index] ^ x_base)), u64(u32(y_table[index] ^ y_base))
            # x² + x + y² + y < 2⁶⁴: the sum doesn't wrap
            inside = i32(inside + i32(u64(x * x + x) <= ~u64(y * y + y)))
        total += inside
    return total


@kernel()
def fill(low, high, block, words):
    """Fill `words` (BLOCK,) with a block's words of the two keys."""
    s0, s1 = np.empty(LANES, u32), np.empty(LANES, u32)
    s2, s3 = np.empty(LANES, u32), np.empty(LANES, u32)
    seed_lanes(low, high, block, s0, s1, s2, s3)
    for start in range(0, BLOCK, LANES):
        row = words[start : start + LANES]
        for lane in range(LANES):
            s0[lane], s1[lane], s2[lane], s3[lane], row[lane] = step(s0[lane], s1[lane], s2[lane], s3[lane])


@kernel()
def stratified(low, high, size, rows, first, last):
    """Return how many of `size` stratified darts, `first` ≤ i < `last`, are inside; `first` begins a block."""
    words = np.empty(BLOCK, u32)
    total = 0
    for block in range(first, last, BLOCK):
        fill(low, high, block // BLOCK, words)
        dart, end = block, min(block + BLOCK, last)
        while dart < end:
            row = ((dart + 1) * rows - 1) // size
            start = row * size // rows
            length = (row + 1) * size // rows - start
            stop = min(start + length, end)
            total += row_inside(words[dart - block : stop - block], dart - start, start, length, size)
            dart = stop
    return total


@kernel()
def row_inside(words, column, start, length, size):
    """Return how many darts of a row of cells are inside, from cell `column` on."""
    inside = i32(0)
    wide, high = 1 / length, 1 / size
    for index in range(len(words)):
        # from int32: few processors turn vectors of another type into floats
        across = (float(i32(words[index] >> u32(16))) + 0.5) / 65536
        up = (float(i32(words[index] & u32(0xFFFF))) + 0.5) / 65536
        x, y = (float(i32(column) + i32(index)) + across) * wide, (float(start) + up * length) * high
        inside += i32(x * x + y * y < 1)
    return inside
