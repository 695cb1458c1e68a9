"""The compiled sums of chunks: numba, serial, without Python's lock, so that several threads may each add up some."""

import numpy as np

from course.compiled import kernel

# Those of chunks.py, written again (a test compares): compiled code is kept until this file changes.
CHUNK, LANES = 1 << 15, 64


@kernel()
def chunk_sums(values, sums):
    """Fill `sums` (float64) with those of `values` (float32), a chunk each, added as `slow_chunk_sums` does."""
    lanes = np.empty(LANES, np.float64)
    for chunk in range(len(sums)):
        part = values[chunk * CHUNK : (chunk + 1) * CHUNK]
        for lane in range(LANES):
            lanes[lane] = 0.0
        for row in range(len(part) // LANES):
            numbers = part[row * LANES : (row + 1) * LANES]
            for lane in range(LANES):  # its length is known: these are the processor's vectors
                lanes[lane] += numbers[lane]
        rest = part[len(part) // LANES * LANES :]
        for lane in range(len(rest)):
            lanes[lane] += rest[lane]
        total = 0.0
        for lane in range(LANES):
            total += lanes[lane]
        sums[chunk] = total
