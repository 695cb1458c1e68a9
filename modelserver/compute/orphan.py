"""A worker ends with its front process, whatever it is in the middle of and however that one ended."""

import ctypes
import os
import signal
import sys
import threading

#: Between two looks whether the owner still lives, where the system does not tell.
_LOOKS_EVERY = 1.0
_PR_SET_PDEATHSIG = 1  # from linux/prctl.h: "signal me when my parent dies"


def end_with(owner: int) -> None:
    """End this process, at once on Linux and within a second elsewhere, when its parent, process `owner`, has ended.

    The end of its input says the same, but not to a worker that is inside a model.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != owner:  # it was quicker
            os._exit(0)
        return
    threading.Thread(target=_watch, args=(owner,), name="serving-owner", daemon=True).start()


def _watch(owner):
    import psutil

    try:
        process = psutil.Process(owner)
        while process.is_running():
            threading.Event().wait(_LOOKS_EVERY)
    except psutil.NoSuchProcess:
        pass
    os._exit(0)
