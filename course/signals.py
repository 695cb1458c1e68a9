"""Handle or hold back signals for a while, Ctrl-C (SIGINT) and a polite end (SIGTERM); and end this process."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def taken(handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals) -> Iterator[None]:
    """Within the `with`, `handler` gets these signals; outside the main thread, where none arrive, nothing changes."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def held_back() -> Iterator[list[int]]:
    """Within the `with`, an interrupt (Ctrl-C, Jupyter's *Interrupt*, SIGTERM) waits until its end. Keep it short.

    It gives the list of the interrupts that wait, for a loop that can't be short to look into.

    It is for work that must not be left half done: a request whose answer is not read would leave a connection
    unusable; PyTorch, imported in part, can't be imported again before Python is started anew; a lock stays taken where
    an interrupt strikes before the `with` that would release it. And Python forgets an interrupt in a `__del__` or in
    the callback of a weak reference, such as those of a thousand futures that are dropped.
    """
    arrived: list[int] = []
    try:
        with taken(lambda number, frame: arrived.append(number), signal.SIGINT, signal.SIGTERM):
            yield arrived
    finally:
        for number in arrived[:1]:
            signal.raise_signal(number)


def end_process(code: int) -> NoReturn:
    """End this process now, after what it printed is written; everything else that is open must be closed before.

    Python's own end takes seconds after PyTorch and Dask, and aborts a thread that is in the middle of PyTorch's code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
