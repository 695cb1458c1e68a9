"""A remark that placement leaves for the log, in this thread: why the op that runs now runs where it does."""

import threading
from contextlib import contextmanager


class _Note(threading.local):
    text = ""


_NOTE = _Note()


def current_note():
    """Return the remark on the op that runs now; an empty string when there is none."""
    return _NOTE.text


@contextmanager
def noted(text):
    """Within the `with`, ops that a log records carry `text`."""
    before, _NOTE.text = _NOTE.text, text
    try:
        yield
    finally:
        _NOTE.text = before
