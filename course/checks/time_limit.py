"""A limit on the reader's own code: what takes longer is interrupted where it stands, in whatever thread it runs."""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Iterator

#: Seconds until interrupted code is interrupted again: it may catch the interrupt (`except:` in a loop).
_AGAIN = 0.25
#: What has worked so long is ended after so long on the clock: on a busy machine, that is most likely a loop.
BUSY_WORKS, BUSY_WAITS = 1.0, 11.5


class TimeIsUp(BaseException):
    """The code within a `time_limit` took too long. No Exception: `except Exception` in that code must not catch it."""


@contextlib.contextmanager
def time_limit(works: float, waits: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the code within the `with` after `works` seconds of the processor's, or `waits` on the clock.

    A busy machine may let right code wait, so the clock's limit is the longer one; code that has had a second of the
    processor's by then, far more than a right answer needs, has 12 s on the clock. In the main thread even a wait is
    interrupted, where the system has alarms (not on Windows). Elsewhere Python code is; a single call into a library is
    not, and ends first.
    """
    began, worked = time.monotonic(), time.process_time()

    def over():
        has_worked, has_waited = time.process_time() - worked, time.monotonic() - began
        return has_worked >= works or has_waited >= (BUSY_WAITS if has_worked >= BUSY_WORKS else waits)

    alarm = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    first = min(works, waits, BUSY_WAITS)
    with _alarm(first, over) if alarm else _watchdog(first, over, threading.get_ident()):
        yield


@contextlib.contextmanager
def _alarm(first, over):
    within = True

    def ring(*_):
        if within and over():
            raise TimeIsUp

    began, handler = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    remaining, every = signal.setitimer(signal.ITIMER_REAL, first, _AGAIN)  # of an alarm that was set before
    try:
        try:
            yield
        finally:
            within = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, remaining - (time.monotonic() - began)), every)


@contextlib.contextmanager
def _watchdog(first, over, thread):
    within, done = threading.Lock(), threading.Event()

    def watch():
        pause = first
        while not done.wait(pause):
            with within:
                if not done.is_set() and over():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeIsUp))
            pause = _AGAIN

    dog = threading.Thread(target=watch, name="a check's time limit", daemon=True)
    dog.start()
    try:
        yield
    finally:
        with within:
            done.set()
            # one that was sent, and has not arrived
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
        dog.join()
