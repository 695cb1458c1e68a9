"""Kernels compiled by numba: for this processor, when first called, and kept on disk where a place is writable.

A file of kernels imports numba at its top and decorates with `kernel`. It is imported where it is used, inside a
function, after `available()` said yes; so `import course` stays light, and where there is no numba the caller takes its
next best way.
"""

import os
import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from course.signals import held_back


@cache
def available() -> bool:
    """Return whether numba can be used here; where it can't, a warning says so, once a process."""
    try:
        with held_back():
            import numba
    except ImportError as error:
        warnings.warn(f"numba can't be used ({error}): slower ways are taken. `pip install numba`", stacklevel=2)
        return False
    return bool(numba)


def kernel(**options: Any) -> Callable[[Callable], Callable]:
    """Return a decorator like `numba.njit(nogil=True, **options)` that keeps its work on disk where it can be kept."""
    import numba

    def decorate(function):
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # numba's word for "no place to write to": compiled anew in every process
            return numba.njit(nogil=True, **options)(function)

    return decorate


def kernel_address(signature: Any) -> Callable[[Callable], int]:
    """Return a decorator that compiles a function for `signature`, as `kernel` does, and returns its address.

    So a compiled function can call one of many without being compiled anew for each.
    """
    import numba

    def decorate(function):
        try:
            made = numba.cfunc(signature, cache=True)(function)
        except RuntimeError:
            made = numba.cfunc(signature)(function)
        _FOR_EVER.append(made)  # its code goes when the object does
        return made.address

    return decorate


_FOR_EVER: list[Any] = []


def threads() -> int:
    """Return how many threads a kernel may use: as many as torch does, and no more than there are cores for it.

    In the tasks of a cluster that is one.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(torch.get_num_threads(), cores, int(os.environ.get("NUMBA_NUM_THREADS", cores))))


def together(count: int, function: Callable, *arguments: Any) -> None:
    """Call `function(*arguments)` in `count` threads at once, this one among them, and return when all have returned.

    The threads are Python's and end here: numba's own would not survive a fork. The function must do all the work if
    only one thread comes to it.
    """
    others = [threading.Thread(target=function, args=arguments, daemon=True) for _ in range(count - 1)]
    for other in others:
        other.start()
    function(*arguments)
    for other in others:
        other.join()
