"""Where a dart falls: the point of the quarter square that a random 32-bit word stands for, and whether it is inside.

The upper 15 bits of the word, u, and the lower 15, v, are the point (u + ½, v + ½) / 2¹⁵. Inside the disc is
(u + ½)² + (v + ½)² < 2³⁰, or in whole numbers u² + u + v² + v < 2³⁰. The pi of this lattice is 1.7e-7 too small: one
standard error at 10¹⁴ darts. Darts that are spread out evenly have places of their own: `course.pi.spread`.
"""

import numpy as np

#: Darts a block; a part is a range of blocks. Larger ones share less evenly, smaller ones spend their time seeding.
BLOCK = 1 << 16


def places(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the darts of 32-bit words (uint32) as float64 arrays (x, y), 0 < x, y < 1."""
    return ((words >> 17) + 0.5) / 2**15, ((words & 0x7FFF) + 0.5) / 2**15


def inside(words: np.ndarray) -> int:
    """Return how many darts of 32-bit words (uint32, any shape) are inside."""
    u, v = words >> 17, words & 0x7FFF
    return words.size - int(np.count_nonzero(u * u + u + v * v + v >> 30))  # less than 2³¹: bit 30 says outside
