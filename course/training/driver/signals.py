"""Hold signals back for a moment: a question that is asked and not answered would leave a connection unusable."""

import signal
import threading
from contextlib import contextmanager

_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def unbroken():
    """Within the `with`, an interrupt (Ctrl-C, Jupyter's *Interrupt*, SIGTERM) waits until its end. Keep it short."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread alone
        return
    held = []
    before = {number: signal.signal(number, lambda number, frame: held.append(number)) for number in _HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held[:1]:
            signal.raise_signal(number)
