"""Pi: darts a second, by method, in one process and on two tasks, beside the usual tutorial."""

import os
import statistics
import time

import numpy as np

from benchmarks.report import Row
from course.pi import estimate_pi

_DARTS = 50_000_000


def rows():
    """Yield the figures; each is the median of five runs."""
    tutorial = _million_a_second(_tutorial, 10_000_000)
    blocks = _million_a_second(_blocks, _DARTS)
    here = _million_a_second(lambda darts: estimate_pi(darts, 1), _DARTS)
    yield Row("tutorial: numpy, two arrays of all darts", tutorial, "M darts/s")
    yield Row("numpy SFC64, floats, in blocks of 16k", blocks, "M darts/s", "the tutorial", tutorial)
    yield Row("estimate_pi, one process", here, "M darts/s", "SFC64 in blocks", blocks)
    for method in ("sobol", "stratified"):
        speed = _million_a_second(lambda darts, method=method: estimate_pi(darts, 1, method=method), 5_000_000)
        yield Row(f"estimate_pi, {method}, one process", speed, "M darts/s", "pseudo", here)
    from course.cluster import local_cluster

    with local_cluster(worker=2) as cluster:
        both = _million_a_second(lambda darts: estimate_pi(darts, 1, cluster.executor), 4 * _DARTS)
    yield Row(f"estimate_pi, two tasks of a cluster, {os.cpu_count()} cores", both, "M darts/s", "one process", here)
    for method in ("pseudo", "sobol", "stratified"):
        errors = [estimate_pi(2**20, seed, method=method).error for seed in range(20)]
        yield Row(f"root-mean-square error at 2^20 darts, {method}", float(np.sqrt(np.mean(np.square(errors)))), "")


def _million_a_second(throw, darts):
    throw(darts // 10)
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        throw(darts)
        seconds.append(time.perf_counter() - started)
    return darts / statistics.median(seconds) / 1e6


def _tutorial(darts):
    x, y = np.random.rand(darts), np.random.rand(darts)
    return 4 * np.mean(x * x + y * y < 1)


def _blocks(darts):
    generator = np.random.Generator(np.random.SFC64(1))
    x, y = np.empty((2, 16384))
    inside = 0
    for _ in range(darts // 16384):
        generator.random(out=x)
        generator.random(out=y)
        inside += np.count_nonzero(x * x + y * y < 1)
    return inside
