"""Starting and ending a cluster of three tasks, torch imported on each: ours, Dask's plain LocalCluster, Ray."""

import subprocess
import sys
import time
from contextlib import ExitStack
from statistics import mean

import psutil

from benchmarks.contest import OURS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_FIRST, _NEXT, _PLAIN = "local_cluster(), first of a process", "local_cluster(), a later one", "LocalCluster"
_HERE = f"{__name__}:"


def contests(quick, places):
    """Yield three contests: ready, closed, memory."""
    rounds = 1 if quick else 5

    def all_of(what):
        yield Contestant(_NEXT, _HERE + "ours", {"what": what}, OURS)
        yield Contestant(_PLAIN, _HERE + "plain", {"what": what}, slow=what != "ready")

    first = Contestant(_FIRST, _HERE + "first", {}, OURS)
    ray = Contestant("Ray, without torch", "benchmarks.peers.ray_ways:start", {"tasks": 3}, needs="ray", slow=True)
    targets = (Target(_FIRST, most=1.5), Target(_NEXT, most=0.5))
    yield Contest("Start of a cluster", "s", (first, *all_of("ready"), ray), "less", 1, rounds, targets)
    yield Contest("Close of a cluster", "s", tuple(all_of("close")), "less", 1, rounds, (Target(_NEXT, most=0.2),))
    targets = (Target(_NEXT, most=80),)
    yield Contest("Memory (PSS) of a task", "MB", tuple(all_of("memory")), "less", 1, rounds, targets)


def first():
    """The first cluster of a fresh process, from the call on; one process a run."""
    program = f"import {__name__} as here\nprint(here.once(here.start_ours)['ready'])"

    def run():
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
        return float(done.stdout.split()[-1])

    return Work(run, seconds=float, warm_ups=0)


def ours(what):
    """Clusters of ours one after another: their fork server is there already."""
    return Work(lambda: once(start_ours)[what], seconds=float, warm_ups=1)


def plain(what):
    """Dask's own cluster of processes."""
    return Work(lambda: once(start_plain)[what], seconds=float, warm_ups=0)


def start_ours(stack):
    """Return the client of a cluster of ours."""
    from course.cluster import local_cluster

    return stack.enter_context(local_cluster(ps=1, worker=2)).client


def start_plain(stack):
    """Return the client of a LocalCluster."""
    from distributed import Client, LocalCluster

    cluster = stack.enter_context(LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None))
    return stack.enter_context(Client(cluster))


def once(start):
    """Return seconds until torch is imported on every task, seconds to close, and megabytes (PSS) a task."""
    from course import cluster  # noqa: F401  # what is imported before the call is no part of it

    with ExitStack() as stack:
        began = time.perf_counter()
        client = start(stack)
        client.run(_import_torch)
        ready = time.perf_counter() - began
        memory = mean(_pss(pid) for pid in client.run(_pid).values()) / 1e6
        began = time.perf_counter()
    return {"ready": ready, "close": time.perf_counter() - began, "memory": memory}


def _import_torch():
    import torch  # noqa: F401  # not its version: to read that, this process would import torch too


def _pid():
    import os

    return os.getpid()


def _pss(pid):
    info = psutil.Process(pid).memory_full_info()
    return getattr(info, "pss", info.uss)  # macOS and Windows have no PSS
