"""The fork server: one process with torch and Dask already imported that forks a task in milliseconds (Linux only).

It reads one JSON request a line from its standard input and answers each with one line. It lives in a session of its
own, because Jupyter's *Interrupt* signals the kernel's whole process group, and ends, with every task it forked, when
its owner goes away: at the end of its input, or when its parent's id changes. (`multiprocessing` has a fork server too;
its children would import the notebook's `__main__`, and outlive an owner that is killed.)
"""

import ctypes
import gc
import json
import os
import select
import shutil
import signal
import sys
from functools import cache

from course.cluster.task.task import run_task, task_settings

#: Between two looks of the fork server whether its owner still lives.
OWNER_LOOK_EVERY = 1.0

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h: "signal me when my parent dies"


def main() -> None:
    """Preload, then serve requests until the owner is gone."""
    import torch  # noqa: F401

    # A collection in a task would otherwise write to, and so copy, every shared page. None goes before it: the imports
    # left some thousand dead objects, and to find them takes as long as a task's start.
    gc.freeze()
    gc.enable()  # this Python was started without
    owner, input_buffer = os.getppid(), b""
    exit_codes: dict[int, int | None] = {}  # process id -> None while it runs
    folders: set[str] = set()
    _answer({"ready": os.getpid()})
    try:
        while os.getppid() == owner:
            if not select.select([0], [], [], OWNER_LOOK_EVERY)[0]:
                _import_the_rest()
                continue
            chunk = os.read(0, 1 << 16)
            if not chunk:
                break
            input_buffer += chunk
            *lines, input_buffer = input_buffer.split(b"\n")
            for line in lines:
                request = json.loads(line)
                folders |= {request["start"]["scratch"]} if "start" in request else set()
                _answer(_serve(request, exit_codes))
    finally:
        for pid in (pid for pid, code in exit_codes.items() if code is None):
            os.kill(pid, signal.SIGKILL)  # SIGKILL also ends a stopped task
        for folder in folders:  # gone already, unless the owner was killed
            shutil.rmtree(folder, ignore_errors=True)
        gc.unfreeze()  # at its end triton, which torch's CUDA build brings, would name what is frozen as leaks


@cache
def _import_the_rest():
    """Import what the first optimiser of a process imports (seconds), so that a replaced parameter server is quick."""
    import torch

    torch.optim.SGD([torch.zeros(1)], lr=0.1)
    gc.collect()
    gc.freeze()


def _answer(message):
    os.write(1, json.dumps(message).encode() + b"\n")


def _serve(request, exit_codes):
    """Carry out one request: `start` a task, or send a task a `signal` (0 sends none) and say how it ended."""
    _reap(exit_codes)
    if "start" in request:
        try:
            pid = _fork(request["start"])
        except OSError as error:  # no memory, or too many processes
            return {"error": str(error)}
        exit_codes[pid] = None
        return {"pid": pid}
    pid = request["pid"]
    if exit_codes[pid] is None:  # not reaped, so the id is still its own
        os.kill(pid, request["signal"])
    return {"exit_code": exit_codes[pid]}


def _reap(exit_codes):
    for pid in [pid for pid, code in exit_codes.items() if code is None]:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            exit_codes[pid] = os.waitstatus_to_exitcode(status)


def _fork(settings):
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:  # it died between the fork and the line above
            os._exit(1)
        os.setsid()
        code = run_task(task_settings(settings))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
