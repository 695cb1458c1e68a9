"""Kernels compiled by numba: for this processor, when first called, and kept on disk where a place is writable.

A file of kernels imports numba at its top and decorates with `kernel`. It is imported where it is used, inside a
function, after `available()` said yes; so `import course` stays light, and where there is no numba the caller takes its
next best way.

numba keeps what it compiled until the file of the function changes, and looks at no other. So what a kernel is compiled
from (functions, constants) stands in its own file: `tests/course/test_compiled.py` looks.
"""

import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from typing import Any

from course.signals import held_back

COMPILING_IS_TOLD = 1.5  # seconds of a first call, after which it must be compiling and not reading from the disk


@cache
def available() -> bool:
    """Return whether numba can be used here; where it can't, a warning says so, once a process."""
    let_forked_children_compute()
    try:
        with held_back(), collector_rests():
            import numba
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            raise ImportError("NUMBA_DISABLE_JIT is set")
    except ImportError as error:
        warnings.warn(f"numba can't be used ({error}): slower ways are taken. `pip install numba`", stacklevel=2)
        return False
    return bool(numba)


@cache
def let_forked_children_compute() -> None:
    """Have torch compute on one thread in children that are forked from this process, from now on.

    After an op on several threads OpenMP in a child still counts on these threads, and waits for them without end
    (github.com/pytorch/pytorch/issues/58962). The kernels here follow torch, and take one thread there, too.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_compute_on_one_thread)


def _compute_on_one_thread():
    torch = sys.modules.get("torch")
    if hasattr(torch, "set_num_threads"):  # it may be half imported
        torch.set_num_threads(1)


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

    A compiled function can then call one of many such functions without being compiled anew for each.
    """
    import numba

    def decorate(function):
        try:
            native = numba.cfunc(signature, cache=True)(function)
        except (RuntimeError, OSError):
            native = numba.cfunc(signature)(function)
        _FOR_EVER.append(native)  # its code goes when the object does
        return native.address

    return decorate


_FOR_EVER: list[Any] = []


def usable(owner: str, first_call: Callable[[], object]) -> bool:
    """Return whether `first_call`, which calls all kernels that are needed, succeeds; a warning says if not.

    A line on stderr says so where they must be compiled, which takes seconds.
    """
    line = f"compiling {owner} kernels for this processor, once: some seconds"
    timer = threading.Timer(COMPILING_IS_TOLD, print, [line], {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    try:
        with collector_rests():
            first_call()
    except MemoryError:
        raise
    except Exception as error:  # numba raises its own errors, LLVM's RuntimeError and the disk's OSError
        warnings.warn(
            f"{owner} kernels can't be compiled here ({type(error).__name__}: {error}): slower ways are taken.",
            stacklevel=3,
        )
        return False
    finally:
        timer.cancel()
        timer.join()
    return True


@contextmanager
def collector_rests() -> Iterator[None]:
    """Within the `with`, Python's garbage collector rests: it takes a third of a first call, and frees next to nothing.

    It is enabled again at the end by each caller that found it enabled, so several threads may be in here at once.
    """
    at_work = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if at_work:
            gc.enable()


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_threads() -> int:
    """Return on how many threads torch would compute, whether or not it is loaded."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch.get_num_threads()
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return max(int(setting), 1) if setting.isdecimal() else cores()


def threads() -> int:
    """Return how many threads a kernel may use: as many as torch does, and no more than there are cores for it.

    In the tasks of a cluster that is one.
    """
    setting = os.environ.get("NUMBA_NUM_THREADS", "")
    return max(1, min(usual_threads(), cores(), int(setting) if setting.isdecimal() else cores()))


def in_pieces(count: int, size: int, function: Callable[[int, int], object], most: int | None = None) -> None:
    """Call `function(first, last)` for pieces of `range(size)`, each once, in `count` threads at once.

    A piece has at most `most` numbers; an interrupt waits for the end of a piece. A piece for which another thread has
    no memory is called again, in this thread.
    """
    if not size:
        return
    pieces = 4 * count if count > 1 else 1  # a thread that starts late finds fewer left
    pieces = min(max(pieces, -(-size // (most or size))), size)
    waiting = list(pairwise(size * piece // pieces for piece in range(pieces + 1)))
    together(count, _take, waiting, function)
    _take(waiting, function)


def _take(waiting, function):
    with suppress(IndexError):  # another thread may have taken the last one
        while piece := waiting.pop():
            try:
                function(*piece)
            except MemoryError:
                waiting.append(piece)
                raise
            except BaseException:  # an interrupt: the other threads end, too
                waiting.clear()
                raise


def together(count: int, function: Callable, *arguments: Any) -> None:
    """Call `function(*arguments)` in `count` threads at once, this one among them, and return when all have returned.

    The threads are Python's and end here: numba's own would not survive a fork. The function must be able to do all the
    work in one thread: it has no other where no more threads can be had, or another thread has no memory.
    """
    others = [threading.Thread(target=_helped, args=(function, arguments), daemon=True) for _ in range(count - 1)]
    started = []
    try:
        for other in others:
            with suppress(RuntimeError):
                other.start()
                started.append(other)
        function(*arguments)
    finally:
        for other in started:
            other.join()


def _helped(function, arguments):
    with suppress(MemoryError):
        function(*arguments)
