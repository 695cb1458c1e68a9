"""Hold Ctrl-C back for a moment: a question that is asked and not answered would leave a connection unusable."""

import signal
import threading
from contextlib import contextmanager


@contextmanager
def unbroken():
    """Within the `with`, an interrupt (Ctrl-C, Jupyter's *Interrupt*) waits; it comes at the end. Keep it short."""
    if threading.current_thread() is not threading.main_thread():
        yield  # interrupts go to the main thread alone
        return
    held = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)
