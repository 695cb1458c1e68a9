"""The sum of float32 numbers in float64, chunk by chunk: always in one order, so that its last digit never changes."""

import numpy as np

from course import compiled

#: Numbers a chunk, and running sums within it: number i of a chunk is added to sum i mod 64.
CHUNK, LANES = 1 << 15, 64
_THREADED = 1 << 22  # numbers from which threads are worth their start: 0.5 ms of reading


def float32_sum(values: np.ndarray, threads: int = 1) -> float:
    """Return the sum of `values` (float32, one-dimensional), each number made a float64 before it is added.

    The bits of the answer depend on the numbers and their order alone: not on `threads`, on how wide the processor's
    vectors are, or on whether numba is there (without it numpy adds, five times slower). nan and inf are handed on as
    in any float64 sum; float32 numbers are too small for a sum that overflows.
    """
    sums = np.empty(-(-len(values) // CHUNK))
    add_up = _add_up()
    if len(values) < _THREADED or threads == 1:
        add_up(values, sums)
    else:
        compiled.in_pieces(threads, len(sums), lambda first, last: add_up(values[first * CHUNK :], sums[first:last]))
    with np.errstate(invalid="ignore"):  # inf - inf is nan, as inside a chunk
        return float(sums.sum())


def slow_chunk_sums(values: np.ndarray, sums: np.ndarray) -> None:
    """Fill `sums` (float64) with those of `values` (float32), a chunk each, by numpy: reference and next best."""
    with np.errstate(invalid="ignore"):
        for chunk in range(len(sums)):
            part = values[chunk * CHUNK : (chunk + 1) * CHUNK].astype(np.float64)
            rows = np.concatenate([part, np.zeros(-len(part) % LANES)]).reshape(-1, LANES)
            sums[chunk] = np.add.accumulate(rows.sum(axis=0, initial=0.0))[-1]  # row by row; then from lane 0 on


def _add_up():
    if not compiled.available():
        return slow_chunk_sums
    from course.mapreduce.chunk_sums import chunk_sums

    return chunk_sums
