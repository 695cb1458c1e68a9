"""What every test shares: a test that leaves a process, a listening port or a thread behind fails, by name."""

import contextlib
import socket
import threading
import time

import psutil
import pytest

#: Outlive their makers by design, one each in a process: the fork server (ours, and multiprocessing's), the tracker of
#: shared resources, and the thread in which Dask packs large messages.
ALLOWED_PROCESSES = ("course.cluster.forkserver", "multiprocessing.forkserver", "multiprocessing.resource_tracker")
ALLOWED_THREADS = ("Dask-Offload",)


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
    return processes, ports, threads


def check_leaks(before, patience=5.0):
    """Wait up to `patience` seconds for all that was not there `before` to go; fail with the names of the rest."""
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


@pytest.fixture
def free_ports():
    """A function that returns `count` ports of 127.0.0.1 on which nobody listens now."""

    def find(count):
        with contextlib.ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in range(count)]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            return [one.getsockname()[1] for one in sockets]

    return find
