"""What this process has open: processes below it, ports they listen on, threads; and a check that nothing stayed."""

import sys
import threading
import time
import traceback

import psutil
import pytest

#: Outlive their makers by design, one each in a process: the fork server (ours, and multiprocessing's), the tracker of
#: shared resources, and the thread in which Dask packs large messages. An event loop's helpers (looks for a host's
#: address, say) begin when they are needed, and end with their loop, whose own thread may not stay.
ALLOWED_PROCESSES = (
    "course.cluster.local_runtime.forkserver",
    "multiprocessing.forkserver",
    "multiprocessing.resource_tracker",
    # Chromium's services and its drawing process begin when they are needed; they end with their browser, which may not
    # stay, and a page's own process may not either
    "--type=utility",
    "--type=gpu-process",
)
ALLOWED_THREADS = ("Dask-Offload", "asyncio_")
#: Functions that return the process ids, ports and threads' ids of what all tests of this process share.
OUTLIVING = []


def leftovers():
    """Return what is alive now: processes below this one, ports they listen on, threads here."""
    me = psutil.Process()
    processes, ports = set(), set()
    for process in [me, *me.children(recursive=True)]:
        try:
            line = " ".join(process.cmdline())
            if process != me and not any(name in line for name in ALLOWED_PROCESSES):
                if process.status() != psutil.STATUS_ZOMBIE:
                    processes.add((process.pid, line[:120]))
            ports |= {c.laddr.port for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it ended while we looked
    threads = {(t.ident, t.name) for t in threading.enumerate() if not t.name.startswith(ALLOWED_THREADS)}
    for shared in OUTLIVING:
        pids, shared_ports, idents = shared()
        processes = {(pid, line) for pid, line in processes if pid not in pids}
        threads = {(ident, name) for ident, name in threads if ident not in idents}
        ports -= shared_ports
    return processes, ports, threads


def check_leaks(before, patience=20.0):
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
