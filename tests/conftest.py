"""What every test shares: a test that leaves a process, a listening port or a thread behind fails, by name."""

import threading
import time

import psutil
import pytest

#: Outlive their makers by design: the fork server and multiprocessing's tracker of shared resources (one each), and
#: Dask's pools for (de)serialising and its event-loop-wide helpers.
ALLOWED_PROCESSES = ("multiprocessing.forkserver", "multiprocessing.resource_tracker")
ALLOWED_THREADS = ("Dask-Offload", "AsyncProcess", "Profile", "IO loop", "asyncio_", "pymp-", "TokioRuntime")


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
    threads = {t.name for t in threading.enumerate() if not t.name.startswith(ALLOWED_THREADS)}
    return processes, ports, threads


def check_leaks(before, patience=5.0):
    """Wait up to `patience` seconds for everything that was not there `before` to go; fail with the names of the rest."""
    deadline = time.monotonic() + patience
    while True:
        left = [now - then for now, then in zip(leftovers(), before, strict=True)]
        if not any(left):
            return
        if time.monotonic() > deadline:
            kinds = ("processes", "listening ports", "threads")
            pytest.fail("left behind: " + "; ".join(f"{k} {sorted(v)}" for k, v in zip(kinds, left, strict=True) if v))
        time.sleep(0.05)


@pytest.fixture(autouse=True, scope="module")
def no_leaks_from_this_file():
    before = leftovers()
    yield
    check_leaks(before)


@pytest.fixture(autouse=True)
def no_leaks(no_leaks_from_this_file):
    before = leftovers()
    yield
    check_leaks(before)
