"""Starting, filling and ending a cluster of three tasks: ours, and Dask's plain LocalCluster beside it."""

import statistics
import time

import psutil

from benchmarks.report import Row

_RUNS = 5


def _import_torch():
    import torch

    return torch.__version__


def _ours():
    from course.cluster import local_cluster

    began = time.perf_counter()
    cluster = local_cluster(ps=1, worker=2)
    return began, cluster.client, cluster.close


def _plain():
    from distributed import Client, LocalCluster

    began = time.perf_counter()
    cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)

    def close():
        client.close()
        cluster.close()

    return began, client, close


def _once(start):
    """Return seconds until torch is imported on every task, seconds to close, and megabytes (PSS) a task."""
    began, client, close = start()
    client.run(_import_torch)
    ready = time.perf_counter() - began
    pids = client.run(lambda: __import__("os").getpid()).values()
    memory = statistics.mean(_pss(pid) for pid in pids) / 1e6
    began = time.perf_counter()
    close()
    return ready, time.perf_counter() - began, memory


def _pss(pid):
    info = psutil.Process(pid).memory_full_info()
    return getattr(info, "pss", info.uss)  # macOS and Windows have no PSS


def rows():
    """Yield the figures of the first cluster in this process and the medians of later ones."""
    first, *_ = _once(_ours)
    ready, close, memory = (
        statistics.median(column) for column in zip(*(_once(_ours) for _ in range(_RUNS)), strict=True)
    )
    plain = [_once(_plain) for _ in range(2)]
    peer_ready, peer_close, peer_memory = (statistics.median(column) for column in zip(*plain, strict=True))
    beside = "LocalCluster"
    yield Row("first local_cluster(), torch imported on every task", first, "s", beside, peer_ready)
    yield Row("second local_cluster(), torch imported on every task", ready, "s", beside, peer_ready, "≤ 0.5 s")
    yield Row("close", close, "s", beside, peer_close, "≤ 0.2 s")
    yield Row("memory (PSS) a task, torch imported", memory, "MB", beside, peer_memory, "≤ 80 MB")
