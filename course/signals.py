"""Handle or hold back signals for a while, Ctrl-C (SIGINT) and a polite end (SIGTERM); and end this process."""

import os
import sys
from typing import NoReturn

from modelserver.signals import held_back, taken

__all__ = ["end_process", "held_back", "taken"]


def end_process(code: int) -> NoReturn:
    """End this process now, after what it printed is written; everything else that is open must be closed before.

    Python's own end takes seconds after PyTorch and Dask, and aborts a thread that is in the middle of PyTorch's code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
