"""The processes of a lab: which there are below this one, and that they end."""

import time

import psutil


def below():
    """Return the ids of the processes below this one."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def assert_ended(processes, patience=60.0):
    """Wait until all `processes` have ended but one, the fork server, which makes the next cluster start in a moment."""
    deadline = time.monotonic() + patience
    while len(processes & below()) > 1:
        assert time.monotonic() < deadline, "a lab that is closed still has its processes"
        time.sleep(0.05)
