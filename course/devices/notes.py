"""A remark that placement leaves for the log, in this thread: why the op that runs now runs where it does."""

import threading
from contextlib import contextmanager


class _Note(threading.local):
    text = ""


#: `NOTE.text` is the remark on the op that runs now; empty when there is none.
NOTE = _Note()


@contextmanager
def noted(text):
    """Within the `with`, ops that a log records carry `text`."""
    before, NOTE.text = NOTE.text, text
    try:
        yield
    finally:
        NOTE.text = before
