"""Stratified darts: the square is cut in as many cells of equal area as there are darts, one dart a cell."""

from math import isqrt

import numpy as np

from course.pi.pseudo import BLOCK


def points(seed: int, replicate: int, size: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
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
