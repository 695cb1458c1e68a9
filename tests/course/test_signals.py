"""Signals are taken for a while, in the main thread alone."""

import signal
import threading

from course.signals import taken


def test_a_handler_has_its_signals_until_the_end():
    got, before = [], signal.getsignal(signal.SIGTERM)
    with taken(lambda number, frame: got.append(number), signal.SIGTERM, signal.SIGINT):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert got == [signal.SIGTERM, signal.SIGINT] and signal.getsignal(signal.SIGTERM) is before


def test_in_another_thread_nothing_changes():
    found, before = [], signal.getsignal(signal.SIGTERM)

    def look():
        with taken(lambda number, frame: None, signal.SIGTERM):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [before]
