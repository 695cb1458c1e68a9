"""What a trial left open: threads, listening ports and work in the cluster's tasks; threads and files here."""

import os
import re
import threading
import time

_PATIENCE = 8.0  # seconds for the last of it to close: silence is noticed after three
_FREE = 20.0  # seconds for a task to be replaced, to join, and to have a thread for us
#: Threads that a Dask worker has, trained or not; every other one in a task is a training's.
_DASKS = re.compile(r"MainThread|.*Dask-|TCP-Executor|asyncio|ThreadPoolExecutor|Profile|IO loop|course-beats")


def left_in_tasks(cluster):
    """Return, as sentences, what is open in the tasks and should not be; waits for replacements to join."""
    deadline = time.monotonic() + _FREE
    return [leak for task in cluster.tasks for leak in _left_in(cluster, task, deadline)]


def _left_in(cluster, task, deadline):
    settled = time.monotonic() + _PATIENCE
    while True:
        with cluster.at(task):
            asking = cluster.executor.submit(_open_in_task)
        try:
            threads, ports = asking.result(timeout=max(1.0, deadline - time.monotonic()))
        except TimeoutError:
            asking.cancel()
            return [f"{task} is not free {_FREE:.0f} s after the training"]
        threads = [name for name in threads if not _DASKS.match(name)]
        if not threads and ports == 1:
            return []
        if time.monotonic() > settled:
            return [f"{task}: threads {threads}, {ports} listening ports"]
        time.sleep(0.1)


def _open_in_task():
    import psutil

    ports = [c for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN]
    return [thread.name for thread in threading.enumerate()], len(ports)


def open_here():
    """Return what this process has open now: threads by stem, and the files of /proc where there is one."""
    return _threads(), _files()


def left_here(before):
    """Return, as sentences, what this process has open that it had not `before`."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        threads, files = _threads() - before[0], _files() - before[1]
        if not threads and files <= 0:
            return []
        if time.monotonic() > deadline:
            return [f"left in the session: threads {sorted(threads)}, {files} files"]
        time.sleep(0.1)


def left_in_folder(folder):
    """Return, as sentences, what a training left in its folder beside checkpoints: temporary files, its lock."""
    names = [path.name for path in folder.iterdir()]
    return [f"left in the folder: {name}" for name in names if "tmp" in name or name.endswith((".lock", ".part"))]


def _threads():
    mine = {thread.name for thread in threading.enumerate()}
    return {name for name in mine if not re.match(r"Dask-|TCP-Executor|asyncio|ThreadPoolExecutor", name)}


def _files():
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return 0
    kinds = [_target(f"{folder}/{name}") for name in os.listdir(folder)]
    return sum(not kind.startswith(("socket:", "anon_inode", "pipe:")) for kind in kinds)


def _target(path):
    try:
        return os.readlink(path)
    except OSError:
        return "anon_inode: closed meanwhile"
