"""The mean of float32 numbers: numpy's, torch's two, a running sum, dask.array on a cluster, and plain Dask futures."""

from contextlib import contextmanager

import numpy as np

from benchmarks.contestant import Work


def numpy_mean(data, count):
    """numpy's mean, which adds pairwise in float32."""
    values = np.fromfile(data, np.float32, count)
    return Work(values.mean, float)


def torch_mean(data, count, dtype=""):
    """torch's mean, in float32 or in the type that is asked for."""
    import torch

    values = torch.from_numpy(np.fromfile(data, np.float32, count))
    kind = getattr(torch, dtype) if dtype else None
    return Work(lambda: values.mean(dtype=kind), float)


@contextmanager
def dask_array(data, count, workers):
    """dask.array's mean of chunks that are on the workers already."""
    import dask.array
    from distributed import Client, LocalCluster, wait

    plain = {"threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **plain) as cluster, Client(cluster) as client:
        values = np.fromfile(data, np.float32, count)
        chunks = client.persist(dask.array.from_array(values, chunks=count // (4 * workers)))
        wait(chunks)
        yield Work(lambda: chunks.mean(dtype="float64").compute(), float)


@contextmanager
def dask_futures(data, count, workers):
    """A part on each worker already, a future for each part's sum."""
    from distributed import Client, LocalCluster

    plain = {"threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **plain) as cluster, Client(cluster) as client:
        offsets = [index * (count // workers) for index in range(workers)]
        parts = client.map(_part, [data] * workers, offsets, [count // workers] * workers, pure=False)
        yield Work(lambda: sum(client.gather(client.map(_sum, parts, pure=False))) / count, float)


def _part(data, offset, count):
    return np.fromfile(data, np.float32, count, offset=4 * offset)


def _sum(values):
    return float(np.add.reduce(values, dtype=np.float64))
