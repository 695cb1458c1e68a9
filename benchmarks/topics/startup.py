"""Starting and ending a cluster of three tasks, torch imported on each: ours, Dask's plain LocalCluster, Ray."""

import subprocess
import sys
import time
from contextlib import ExitStack
from statistics import mean

import psutil

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from benchmarks.scaling.memory import proportional

_FIRST, _NEXT, _PLAIN = "local_cluster(), first of a process", "local_cluster(), a later one", "LocalCluster"
_RAY = "Ray, without torch"
_START, _CLOSE, _MEMORY = "Start of a cluster", "Close of a cluster", "Memory (PSS) of a task"


def contests(quick, places):
    """Yield three contests: ready, closed, and memory."""
    first, later, plain = (Contestant(_FIRST, kind=OURS), Contestant(_NEXT, kind=OURS), Contestant(_PLAIN))
    ray = {"tasks": 3, "title": _START, "name": _RAY}
    ray = Contestant(_RAY, "benchmarks.peers.ray_ways:start", ray, needs="ray", slow=True)
    targets = (Target(_FIRST, most=1.5), Target(_NEXT, most=0.5))
    start = Contest(_START, "s", (first, later, plain, ray), "less", targets=targets)
    closed = Contest(_CLOSE, "s", (later, plain), "less", targets=(Target(_NEXT, most=0.2),))
    memory = Contest(_MEMORY, "MB", (later, plain), "less", targets=(Target(_NEXT, most=80),))
    works = {_FIRST: "first_of_a_process", _NEXT: "ours", _PLAIN: "plain"}
    everyone = (*(Contestant(name, f"{__name__}:{work}") for name, work in works.items()), ray)
    yield Together(everyone, (start, closed, memory), rounds=1 if quick else 5)


def first_of_a_process():
    """The first cluster of a fresh process, from the call on; one process a run."""
    program = f"import {__name__} as here\nprint(here.once(here.start_ours)[{_START!r}])"

    def run():
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
        return {_START: {_FIRST: float(done.stdout.split()[-1])}}

    return Work(run, figures=True, warm_ups=0)


def ours():
    """Clusters of ours one after another: their fork server is there already."""
    return _each(_NEXT, start_ours, warm_ups=1)


def plain():
    """Dask's own cluster of processes."""
    return _each(_PLAIN, start_plain, warm_ups=0)


def _each(name, start, warm_ups):
    def run():
        return {title: {name: figure} for title, figure in once(start).items()}

    return Work(run, figures=True, warm_ups=warm_ups)


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
    """Return by title the seconds until torch is imported on every task, those to close, and a task's megabytes."""
    from course import cluster  # noqa: F401  # what is imported before the call is no part of it

    with ExitStack() as stack:
        began = time.perf_counter()
        client = start(stack)
        client.run(_import_torch)
        ready = time.perf_counter() - began
        memory = mean(proportional([psutil.Process(pid)]) for pid in client.run(_pid).values()) / 1e6
        began = time.perf_counter()
    return {_START: ready, _CLOSE: time.perf_counter() - began, _MEMORY: memory}


def _import_torch():
    import torch  # noqa: F401  # not its version: to read that, this process would import torch too


def _pid():
    import os

    return os.getpid()
