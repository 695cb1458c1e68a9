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

from course.pi.pseudo import BLOCK

_BITS = 32


def sobol_points(seed: int, replicate: int, size: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points `first` ≤ i < `last` of scrambled Sobol sequence number `replicate`: float64 arrays (x, y) in 0…1.

    `first` begins a block. `size`, the length of the sequence, doesn't matter: a longer one begins with a shorter one.
    """
    scramble = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(replicate, 0)))
    # direction numbers of the first coordinate, as 32-bit fractions: 1/2, 1/4, 1/8, …
    halves = [1 << (_BITS - 1 - bit) for bit in range(_BITS)]
    return tuple(_coordinate(first, last, *_scrambled(plain, scramble)) for plain in (halves, _pascal()))


def stratified_points(seed: int, replicate: int, size: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return darts `first` ≤ i < `last` of `size`, set number `replicate`: float64 arrays (x, y) in 0…1.

    `first` begins a block of which at most one is asked for. There are about √size rows of cells. Row r holds c darts,
    is c/size high and its cells 1/c wide, so every cell has the area 1/size whatever the size.
    """
    rows = isqrt(size)
    index = np.arange(first, last)
    row = ((index + 1) * rows - 1) // size
    start = row * size // rows  # the row's first dart
    length = (row + 1) * size // rows - start
    stream = np.random.SeedSequence(seed, spawn_key=(replicate, 1 + first // BLOCK))
    within = np.random.Generator(np.random.SFC64(stream)).random((2, last - first))
    return (index - start + within[0]) / length, (start + within[1] * length) / size


def _coordinate(first, last, directions, base):
    for bit in range(_BITS):
        if first >> bit & 1:  # first is a multiple of the block: only bits above the table's
            base ^= directions[bit]
    table = np.zeros(1, np.uint32)
    for bit in range((min(BLOCK, last - first) - 1).bit_length()):
        table = np.concatenate([table, table ^ np.uint32(directions[bit])])
    return ((table[: last - first] ^ np.uint32(base)) + 0.5) / 2.0**_BITS


def _pascal():
    # direction numbers of the second, polynomial x + 1: each is the one before, halved, and itself
    directions = [1 << (_BITS - 1)]
    while len(directions) < _BITS:
        directions.append(directions[-1] ^ directions[-1] >> 1)
    return directions


def _scrambled(directions, generator):
    # digit j of a direction adds its own column: a one at digit j and random digits below it
    columns = [1 << low | int(generator.integers(1 << low)) for low in range(_BITS)]
    shift = int(generator.integers(1 << _BITS))
    return [_times(columns, direction) for direction in directions], shift


def _times(columns, direction):
    product = 0
    for low in range(_BITS):
        if direction >> low & 1:
            product ^= columns[low]
    return product
