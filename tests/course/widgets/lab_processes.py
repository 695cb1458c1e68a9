"""The processes of a lab: which there are below this one, and that they end."""

import time
from contextlib import suppress

import psutil


def below():
    """Return the ids of the processes below this one, without multiprocessing's, which other tests may have started."""
    ids = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "multiprocessing." not in " ".join(child.cmdline()):
                ids.add(child.pid)
    return ids


def assert_ended(processes, patience=60.0):
    """Wait until `processes` have ended, but for one: the fork server, which makes the next cluster start sooner."""
    deadline = time.monotonic() + patience
    while len(processes & below()) > 1:
        assert time.monotonic() < deadline, "a lab that is closed still has its processes"
        time.sleep(0.05)
