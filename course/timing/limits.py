"""What a processor can do at most: simple operations on whole numbers, and bytes read from memory.

The operations of a loop that touches nothing but a few words in the first cache are counted, and those of a loop that
does nothing but read. Each is timed on one core, and the number of cores times that is the limit: more than any program
of such operations, on all cores, will reach.
"""

import os
import time

import numpy as np

_LANES, _ROUNDS = 512, 4096  # independent words, so that no operation waits for another; about a millisecond a call
_IN_A_ROUND = 16  # operations on each word, as the kernel below has them
_READ = 64 * 2**20  # bytes: larger than the caches that a core has to itself


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_operations(bits: int = 64, seconds: float = 0.2) -> float:
    """Return how many additions and exclusive ors of `bits`-bit words all cores together can do a second.

    Measured on one core, the quickest of what fits in `seconds`, and multiplied by `cores()`. Compiled for this
    processor, so its vector units are counted: they do several words at once. Raises ValueError for other `bits` than
    8, 16, 32 or 64, and ImportError where numba can't be used.
    """
    if bits not in (8, 16, 32, 64):
        raise ValueError(f"peak_operations(bits={bits!r}): words have 8, 16, 32 or 64 bits. Give one of these.")
    from course.timing.limit_kernels import operate

    words = np.random.default_rng(0).integers(0, 2**bits, (2, _LANES), dtype=f"uint{bits}")
    return cores() * _LANES * _ROUNDS * _IN_A_ROUND / _quickest(lambda: operate(words, _ROUNDS), seconds)


def peak_reading(seconds: float = 0.3) -> float:
    """Return how many bytes a second all cores together can read from memory, in order.

    Measured with one thread and with `cores()` threads on an array of 64 MiB: the more of the two. Raises ImportError
    where numba can't be used.
    """
    from concurrent.futures import ThreadPoolExecutor

    from course.timing.limit_kernels import read

    words = np.ones(_READ // 8, np.uint64)
    shares = np.array_split(words, cores())
    with ThreadPoolExecutor(cores()) as threads:
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
