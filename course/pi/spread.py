"""Darts spread out evenly, by two methods: the error falls faster than n^-1/2.

Scrambled Sobol: each dart fills the largest gap left by those before it. Stratified: the square is cut in as many cells
of equal area as there are darts, one dart a cell.

The Sobol points are not from SciPy's `qmc.Sobol`, which they equal before scrambling: it reaches point n by counting up
to n (8 s at 2³²), where a part of a run must begin anywhere at once; and its scrambling would throw other darts than
those published.
Source: I. M. Sobol (1967); scrambling by a random triangular matrix and a random shift, as J. Matoušek (1998).
"""

from math import isqrt

import numpy as np

from course import compiled
from course.pi.dart_places import BLOCK
from course.pi.pseudo import keys, words

_BITS = 32


def sobol_count(seed: int, replicate: int, size: int, first: int, last: int) -> int:
    """Return how many of the points that `sobol_points` gives lie inside the disc; any number of blocks.

    With the 32 binary digits X and Y of a point, (X + ½)² + (Y + ½)² < 2⁶⁴ is decided in whole numbers, so exactly, as
    X² + X + Y² + Y < 2⁶⁴. (Squares in float64 are rounded to 53 bits: one point in 10¹⁵ is that near to the circle.)
    """
    if not compiled.available():
        blocks = range(first, last, BLOCK)
        return sum(_in_disc(*_digits(seed, replicate, start, min(start + BLOCK, last))) for start in blocks)
    from course.pi import kernels

    (x, x_shift), (y, y_shift) = _coordinates(seed, replicate)
    return int(kernels.sobol(x, y, x_shift, y_shift, first, last))


def sobol_points(seed: int, replicate: int, size: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points `first` ≤ i < `last` of scrambled Sobol sequence number `replicate`: float64 arrays (x, y) in 0…1.

    `first` begins a block; at most one is asked for. `size`, the length of the sequence, doesn't matter: a longer one
    begins with a shorter one.
    """
    x, y = _digits(seed, replicate, first, last)
    return (x + 0.5) / 2.0**_BITS, (y + 0.5) / 2.0**_BITS


def stratified_count(seed: int, replicate: int, size: int, first: int, last: int) -> int:
    """Return how many of the darts that `stratified_points` gives are inside the disc; any number of blocks."""
    if not compiled.available():
        blocks = range(first, last, BLOCK)
        darts = (stratified_points(seed, replicate, size, start, min(start + BLOCK, last)) for start in blocks)
        return sum(int(np.count_nonzero(x * x + y * y < 1)) for x, y in darts)
    from course.pi import kernels

    return int(kernels.stratified(*keys(seed, replicate, 1), size, isqrt(size), first, last))


def stratified_points(seed: int, replicate: int, size: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return darts `first` ≤ i < `last` of `size`, set number `replicate`: float64 arrays (x, y) in 0…1.

    `first` begins a block of which at most one is asked for. There are about √size rows of cells. Row r holds c darts,
    is c/size high and its cells 1/c wide, so every cell has the area 1/size whatever the size. Where in its cell a dart
    lies, 16 bits across and 16 up, is a word of `course.pi.pseudo`, of a stream of the replicate's own.
    """
    rows = isqrt(size)
    index = np.arange(first, last)
    row = ((index + 1) * rows - 1) // size
    start = row * size // rows  # the row's first dart
    length = (row + 1) * size // rows - start
    chance = words(seed, first, last, replicate, 1)
    across, up = ((half + 0.5) / 65536 for half in (chance >> 16, chance & 0xFFFF))
    return (index - start + across) * (1 / length), (start + up * length) * (1 / size)


def _digits(seed, replicate, first, last):
    return [_coordinate(first, last, *coordinate) for coordinate in _coordinates(seed, replicate)]


def _coordinates(seed, replicate):
    # of x and of y: scrambled direction numbers, uint32 (32,), and a shift
    scramble = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(replicate, 0)))
    # direction numbers of the first coordinate, as 32-bit fractions: 1/2, 1/4, 1/8, …
    halves = [1 << (_BITS - 1 - bit) for bit in range(_BITS)]
    return [_scrambled(plain, scramble) for plain in (halves, _pascal())]


def _coordinate(first, last, directions, base):
    for bit in range(_BITS):
        if first >> bit & 1:  # first is a multiple of the block: only bits above the table's
            base = base ^ directions[bit]
    table = np.zeros(1, np.uint32)
    for bit in range((min(BLOCK, last - first) - 1).bit_length()):
        table = np.concatenate([table, table ^ directions[bit]])
    return table[: last - first] ^ base


def _in_disc(x, y):
    x, y = x.astype(np.uint64), y.astype(np.uint64)
    return int(np.count_nonzero(x * x + x <= ~(y * y + y)))  # the sum of the two doesn't wrap


def _pascal():
    # direction numbers of the second, polynomial x + 1: each is the one before, halved, and itself
    directions = [1 << (_BITS - 1)]
    while len(directions) < _BITS:
        directions.append(directions[-1] ^ directions[-1] >> 1)
    return directions


def _scrambled(directions, generator):
    # digit j of a direction adds its own column: a one at digit j and random digits below it
    *below, shift = generator.integers(1 << np.arange(_BITS + 1))
    columns = [1 << low | int(random) for low, random in enumerate(below)]
    return np.array([_times(columns, direction) for direction in directions], np.uint32), np.uint32(shift)


def _times(columns, direction):
    product = 0
    for low in range(_BITS):
        if direction >> low & 1:
            product ^= columns[low]
    return product
