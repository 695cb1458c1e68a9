"""Darts at pi as tutorials throw them, and as well as the libraries can: numpy, torch, Dask, SFC64 in blocks, numba."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np

from benchmarks.contestant import Work

_BLOCK = 16_384  # darts whose coordinates stay in cache


def numpy_tutorial(darts):
    """Two arrays of all darts."""

    def run():
        x, y = np.random.rand(darts), np.random.rand(darts)
        return 4 * float(np.mean(x * x + y * y < 1))

    return Work(run, float)


def torch_tutorial(darts):
    """The same in torch's float32."""
    import torch

    def run():
        x, y = torch.rand(darts), torch.rand(darts)
        return 4 * (x * x + y * y < 1).float().mean()

    return Work(run, float)


@contextmanager
def dask_example(darts, workers):
    """Dask's documentation: dask.array's random numbers, in chunks, on a cluster of so many workers."""
    import dask.array
    from distributed import Client, LocalCluster

    plain = {"threads_per_worker": 1, "dashboard_address": None, "processes": True}
    with LocalCluster(n_workers=workers, **plain) as cluster, Client(cluster):
        points = dask.array.random.uniform(0, 1, size=(darts, 2), chunks=(darts // (4 * workers), 2))
        inside = (points**2).sum(axis=1) < 1
        yield Work(lambda: 4 * inside.mean().compute(), float)


@contextmanager
def sfc64_blocks(darts, processes=1):
    """NumPy's fastest generator, into the same two small arrays again and again; in so many processes."""
    with ProcessPoolExecutor(processes) as pool:
        share = darts // processes

        def run():
            if processes == 1:
                return 4 * _inside(1, share) / share
            return 4 * sum(pool.map(_inside, range(processes), [share] * processes)) / (share * processes)

        yield Work(run, float)


def _inside(seed, darts):
    generator = np.random.Generator(np.random.SFC64(seed))
    x, y = np.empty((2, _BLOCK))
    inside, left = 0, darts
    while left > 0:
        size = min(left, _BLOCK)
        generator.random(out=x)
        generator.random(out=y)
        inside += np.count_nonzero((x * x + y * y < 1)[:size])
        left -= size
    return inside


def splitmix64(darts):
    """A hash of the dart's number, in numba, on all of its threads: two coordinates of 32 bits a hash."""
    import numba

    @numba.njit(parallel=True)
    def inside(darts):
        count = 0
        for number in numba.prange(darts):
            z = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            x = np.float64(z >> np.uint64(32)) * 2.0**-32
            y = np.float64(z & np.uint64(0xFFFFFFFF)) * 2.0**-32
            count += x * x + y * y < 1.0
        return count

    return Work(lambda: 4 * inside(darts) / darts, float)
