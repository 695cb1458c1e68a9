"""What this process has open: processes below it, ports they listen on, threads; and a check that nothing stayed."""

import contextlib
import os
import socket
import sys
import threading
import time
import traceback

import psutil
import pytest

#: Outlive their makers by design, one each in a process: the fork server (ours, and multiprocessing's), the tracker of
#: shared resources, the thread in which Dask packs large messages, and the one in which fsspec waits for stores. An
#: event loop's helpers (looks for a host's address, say) begin when they are needed, and end with their loop, whose own
#: thread may not stay.
ALLOWED_PROCESSES = (
    "course.cluster.local_runtime.forkserver",
    "multiprocessing.forkserver",
    "multiprocessing.resource_tracker",
    # Chromium's services and its drawing process begin when they are needed; they end with their browser, which may not
    # stay, and a page's own process may not either
    "--type=utility",
    "--type=gpu-process",
)
ALLOWED_THREADS = ("Dask-Offload", "asyncio_", "fsspecIO")
#: Functions that return the process ids, ports and threads' ids of what all tests of this process share.
OUTLIVING = []


def leftovers():
    """Return what is alive now: processes below this one, ports they listen on, threads here."""
    owned = [kinds() for kinds in OUTLIVING]
    shared_pids, shared_ports, shared_threads = (set().union(*(kinds[i] for kinds in owned)) for i in range(3))
    processes, ports = set(), set(_own_ports())
    for process in psutil.Process().children(recursive=True):
        if process.pid in shared_pids:
            continue
        try:
            line = " ".join(process.cmdline())
            if not any(name in line for name in ALLOWED_PROCESSES) and process.status() != psutil.STATUS_ZOMBIE:
                processes.add((process.pid, line[:120]))
            ports |= {c.laddr.port for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it ended while we looked
    threads = {(t.ident, t.name) for t in threading.enumerate() if not t.name.startswith(ALLOWED_THREADS)}
    return processes, ports - shared_ports, {thread for thread in threads if thread[0] not in shared_threads}


def _own_ports():
    """Yield the ports on which this process listens.

    On Linux from its own descriptors: the system's table of sockets takes ten times as long to read, twice a test.
    """
    if sys.platform != "linux":
        yield from (c.laddr.port for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN)
        return
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it was closed while we looked
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(descriptor))) as copy:
                    is_inet = copy.family in (socket.AF_INET, socket.AF_INET6)
                    if (
                        is_inet
                        and copy.type == socket.SOCK_STREAM
                        and copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                    ):
                        yield copy.getsockname()[1]


def check_leaks(before, patience=60.0):
    """Wait up to `patience` seconds for all that was not there `before` to go, or fail with the names of the rest.

    Returns what is alive now, as `leftovers` does.
    """
    deadline = time.monotonic() + patience
    while True:
        now = leftovers()
        left = [here - then for here, then in zip(now, before, strict=True)]
        if not any(left):
            return now
        if time.monotonic() > deadline:
            kinds = ("processes", "listening ports", "threads")
            named = "; ".join(f"{k} {sorted(v)}" for k, v in zip(kinds, left, strict=True) if v)
            pytest.fail(f"left behind: {named}{_where(left[-1])}")
        time.sleep(0.05)


def _where(threads):
    """Return what each of these threads stands at, as lines."""
    frames = sys._current_frames()
    stacks = [traceback.format_stack(frames[ident]) for ident, _ in threads if ident in frames]
    return "".join("\n" + "".join(stack) for stack in stacks)
