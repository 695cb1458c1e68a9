"""Life as tutorials write it with arrays: SciPy's convolve2d, NumPy's roll; and numba's plain loop over bytes."""

import numpy as np

from benchmarks.boards import checksum, load
from benchmarks.contestant import Work


def convolve2d(board, height, width, generations):
    """The line of most tutorials: count the neighbours by a convolution."""
    from scipy.signal import convolve2d

    kernel = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])

    def step(cells):
        counts = convolve2d(cells, kernel, mode="same", boundary="wrap")
        return ((counts == 3) | ((cells == 1) & (counts == 2))).astype(np.uint8)

    return _repeated(step, load(board, height, width), generations)


def roll(board, height, width, generations):
    """The other one: eight shifted copies of the board, added up."""

    def step(cells):
        around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        counts = sum(np.roll(np.roll(cells, i, 0), j, 1) for i, j in around)
        return ((counts == 3) | ((cells == 1) & (counts == 2))).astype(np.uint8)

    return _repeated(step, load(board, height, width), generations)


def compiled(board, height, width, generations):
    """A loop over bytes with a padded border, as numba's examples have it, on all of numba's threads."""
    import numba

    @numba.njit(parallel=True)
    def generation(cells, into):
        cells[0, :], cells[-1, :] = cells[-2, :], cells[1, :]
        cells[:, 0], cells[:, -1] = cells[:, -2], cells[:, 1]
        for i in numba.prange(1, cells.shape[0] - 1):
            above, middle, below, out = cells[i - 1], cells[i], cells[i + 1], into[i]
            for j in range(1, cells.shape[1] - 1):
                count = above[j - 1] + above[j] + above[j + 1] + middle[j - 1] + middle[j + 1]
                count += below[j - 1] + below[j] + below[j + 1]
                out[j] = (count == 3) | ((count == 2) & (middle[j] == 1))

    first = load(board, height, width)

    def run():
        cells, into = np.pad(first, 1), np.zeros((height + 2, width + 2), np.uint8)
        for _ in range(generations):
            generation(cells, into)
            cells, into = into, cells
        return cells[1:-1, 1:-1]

    return Work(run, checksum)


def _repeated(step, first, generations):
    def run():
        cells = first
        for _ in range(generations):
            cells = step(cells)
        return cells

    return Work(run, checksum, warm_ups=1)
