"""How a role ends on SIGTERM: politely, and within a stated time even in the middle of its work."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from course.signals import end_process, taken

#: For a role that gets SIGTERM to end, even in the middle of its work: checkpoints are whole or absent.
ROLE_LEAVES = 2.5

_LOGS_OF_CONNECTIONS = ("distributed", "tornado", "asyncio")  # their loggers; the course's own are left alone


@contextmanager
def leaving_on_sigterm(say: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Within the `with`, SIGTERM raises SystemExit; at its end, or after `ROLE_LEAVES` s, the process is gone then.

    Gives `say` back, silent once the signal has come, as are the logs of Dask: what a process that leaves no longer
    does, and which connections break because others leave too, is not announced.
    """
    leaving = threading.Event()

    def leave(number, frame):
        signal.signal(number, signal.SIG_IGN)  # once is enough
        leaving.set()
        _hush()
        late = threading.Timer(ROLE_LEAVES, os._exit, [128 + number])
        late.daemon = True
        late.start()
        sys.exit(128 + number)

    def say_unless_leaving(line: str, **settings: Any) -> None:
        if not leaving.is_set():
            say(line, **settings)

    try:
        with taken(leave, signal.SIGTERM):
            yield say_unless_leaving
    finally:
        if leaving.is_set():
            end_process(128 + signal.SIGTERM)


def _hush():
    """Silence the loggers of broken connections, and errors that nobody can catch: SystemExit raised in a `__del__`."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in _LOGS_OF_CONNECTIONS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    sys.unraisablehook = lambda unraisable: None
