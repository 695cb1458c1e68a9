"""The mean of float32: GB read a second, and the error near 10^8, beside numpy's and torch's own."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.report import Row
from course.mapreduce import mean
from course.timing import measure


def rows():
    """Yield a speed for each way, then its relative error."""
    import torch

    data = (1e8 + 100 * np.random.default_rng(0).standard_normal(32_000_000)).astype(np.float32)
    tensor = torch.from_numpy(data)
    exact = math.fsum(data[:4_000_000].tolist()) / 4_000_000
    with ThreadPoolExecutor(2) as threads:
        ways = {
            "numpy.mean, float32": lambda n: data[:n].mean(),
            "torch.mean, float32": lambda n: tensor[:n].mean(),
            "torch.mean(dtype=float64)": lambda n: tensor[:n].mean(dtype=torch.float64),
            "course.mean": lambda n: mean(data[:n]),
            "course.mean, 8 parts on 2 threads": lambda n: mean(data[:n], 8, threads),
        }
        speeds = {name: data.nbytes / measure(way, data.size).median / 1e9 for name, way in ways.items()}
        for name, speed in speeds.items():
            yield Row(name, speed, "GB/s", "numpy.mean", speeds["numpy.mean, float32"])
        yield Row("running float32 sum: relative error", _off(np.add.accumulate(data[:4_000_000])[-1] / 4e6, exact), "")
        for name, way in ways.items():
            yield Row(f"{name}: relative error", _off(way(4_000_000), exact), "")
    yield from _moved(data[:8_000_000])


def _moved(data):
    from course.cluster import local_cluster

    with local_cluster(worker=2) as cluster:
        sent = measure(mean, data, 2, cluster.executor).median
    yield Row("course.mean, slices sent to two tasks", data.nbytes / sent / 1e9, "GB/s")


def _off(value, exact):
    return abs(float(value) - exact) / exact
