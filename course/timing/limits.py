"""The most that a processor can do: simple operations on whole numbers, and bytes read from memory.

The operations of a loop that touches nothing but a few words in the first cache are counted, and the bytes of a loop
that does nothing but read. The first is timed on one core and multiplied by the number of cores.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from course import compiled

_LANES, _ROUNDS = 128, 4096  # independent words, so that no operation waits for another; about a millisecond a call
_ADDED, _COMBINED = 16, 128  # operations on a column of words in a round, as the kernels have them
_READ = 64 * 2**20  # bytes: larger than the caches that a core has to itself


def peak_operations(bits: int = 64, seconds: float = 0.2) -> float:
    """Return how many simple operations on `bits`-bit words all cores together can do a second.

    Measured with additions and exclusive ors in turn, then with ands and exclusive ors, of which some processors do two
    in one instruction; the more of the two counts. The quickest of the calls that fit in `seconds`, on one core, times
    `course.compiled.threads()`. Compiled for this processor, so that its vector units do several words at once. Raises
    ValueError for other `bits` than 8, 16, 32 or 64, and ImportError where numba can't be used.
    """
    if bits not in (8, 16, 32, 64):
        raise ValueError(f"peak_operations(bits={bits!r}): words have 8, 16, 32 or 64 bits. Give one of these.")
    from course.timing.limit_kernels import add, combine

    words = np.random.default_rng(0).integers(0, 2**bits, (8, _LANES), dtype=f"uint{bits}")
    added = _ADDED / _quickest(lambda: add(words, _ROUNDS), seconds / 2)
    combined = _COMBINED / _quickest(lambda: combine(words, _ROUNDS), seconds / 2)
    return compiled.threads() * _LANES * _ROUNDS * max(added, combined)


def peak_reading(seconds: float = 0.3) -> float:
    """Return how many bytes a second all cores together can read from memory, in order.

    Measured on an array of 64 MiB by one thread and by `course.compiled.threads()`: the more of the two. Raises
    ImportError where numba can't be used.
    """
    from course.timing.limit_kernels import read

    words, count = np.ones(_READ // 8, np.uint64), compiled.threads()
    shares = np.array_split(words, count)
    with ThreadPoolExecutor(count) as threads:
        alone = _quickest(lambda: read(words), seconds / 2)
        together = _quickest(lambda: list(threads.map(read, shares)), seconds / 2)
    return _READ / min(alone, together)


def _quickest(call, seconds):
    call()  # compiles
    taken, end = [], time.perf_counter() + seconds
    while len(taken) < 3 or time.perf_counter() < end:
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)
