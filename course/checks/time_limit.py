"""A limit on the reader's own code: what takes longer is interrupted where it stands, in whatever thread it runs."""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Iterator

#: Interrupted code may catch what it is interrupted by (`except:` in a loop): it is interrupted again so often.
_AGAIN = 0.25


class TimeIsUp(BaseException):
    """The code within a `time_limit` took too long. No Exception: `except Exception` in that code must not catch it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the code within the `with` once it has taken `seconds` on the clock.

    In the main thread even a wait is interrupted, where the system has alarms (not on Windows). Elsewhere Python code
    is; a single call into a library is not, and ends first.
    """
    alarm = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    with _alarm(seconds) if alarm else _watchdog(seconds, threading.get_ident()):
        yield


@contextlib.contextmanager
def _alarm(seconds):
    within = True

    def ring(*_):
        if within:
            raise TimeIsUp

    began, handler = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)  # of an alarm that was set before
    try:
        try:
            yield
        finally:
            within = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - began)), every)


@contextlib.contextmanager
def _watchdog(seconds, thread):
    within, over = threading.Lock(), threading.Event()

    def watch():
        pause = seconds
        while not over.wait(pause):
            with within:
                if not over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeIsUp))
            pause = _AGAIN

    dog = threading.Thread(target=watch, name="a check's time limit", daemon=True)
    dog.start()
    try:
        yield
    finally:
        with within:
            over.set()
            # one that was sent, and has not arrived
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
        dog.join()
