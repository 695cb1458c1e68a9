"""The mean of float32 numbers near 10^8: GB read a second, and the error, beside numpy, torch, Dask and tuned C."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from benchmarks import whole_file
from benchmarks.contest import LIMIT, OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target

_C, _MEAN, _PEER = "C, float64 sum", "course.mean", "benchmarks.peers.mean_arrays:"
#: More than elsewhere: of 30 GB/s one process reads a tenth more than another.
_STARTS = 5
#: Numbers, far more than any cache holds.
COUNT = 32_000_000
_ERROR = "Mean of 10^8 + noise, relative error"


def contests(quick, places):
    """Yield the contests: one thread, two, on a cluster, and the error."""
    count, rounds = COUNT, 3 if quick else 15
    data = _data(places.folder, count)
    arguments = {"data": str(data), "count": count}
    exact = float(np.fromfile(data, np.float32, count).sum(dtype=np.float64) / count)

    def one(name, work, kind="peer", slow=False, way="", **more):
        return Contestant(name, work, {**arguments, **more}, kind, amount=4e-9 * count, slow=slow, way=way)

    def right(contestant, answer):
        # float32's own sums are off by parts in a million: their loss is a figure of its own, below
        return "" if abs(answer / exact - 1) < 1e-5 else f"the mean is {answer!r}, not {exact!r}"

    for threads in sorted({1, min(2, os.cpu_count() or 1)}):
        contestants = (
            one(_MEAN, f"{__name__}:ours", OURS, threads=threads),
            one("numpy.mean", _PEER + "numpy_mean", slow=threads > 1),
            one("torch.mean, float32", _PEER + "torch_mean"),
            one("torch.mean(dtype=float64)", _PEER + "torch_mean", slow=threads > 1, dtype="float64"),
            one(_C, "mean", LIMIT),
        )
        title = "Mean" + ("" if threads == 1 else f", {threads} threads")
        targets = (Target(_MEAN, _C, least=0.8),)
        yield Contest(title, "GB/s", contestants, "more", threads, rounds, targets, right, _STARTS, threads == 1)
    contestants = (
        one("course.mean, slices sent to two tasks", f"{__name__}:on_tasks", OURS, way="sent"),
        one("map_reduce, each task reads its part", f"{__name__}:on_tasks", OURS, way="read there"),
        one("dask.array, chunks on the workers", _PEER + "dask_array", slow=True, workers=2),
        one("Dask futures, a part on each worker", _PEER + "dask_futures", workers=2),
    )
    yield Contest("Mean, on two workers of a cluster", "GB/s", contestants, "more", 1, rounds, (), right, _STARTS)
    names = ("a running sum in float32", "numpy.mean", "torch.mean, float32", _MEAN)
    shown = tuple(Contestant(name, kind=OURS if name == _MEAN else "peer") for name in names)
    work = Contestant(
        "the errors", f"{__name__}:errors", {"data": str(data), "count": (1 if quick else 4) * 1_000_000}, OURS
    )
    yield Together(
        (work,), (Contest(_ERROR, "of the mean", shown, "less", targets=(Target(_MEAN, most=1e-10),)),), rounds=1
    )


def _data(folder, count):
    path = folder / f"numbers-{count}.f32"
    if not path.exists():
        numbers = (1e8 + 100 * np.random.default_rng(0).standard_normal(count)).astype(np.float32)
        whole_file.write(path, numbers.tofile)
    return path


@contextmanager
def ours(data, count, threads):
    """`course.mapreduce.mean` in this thread, or of as many slices on threads."""
    from course.mapreduce import mean

    values = np.fromfile(data, np.float32, count)
    with ThreadPoolExecutor(threads) as pool:
        yield Work((lambda: mean(values)) if threads == 1 else lambda: mean(values, threads, pool), float)


@contextmanager
def on_tasks(data, count):
    """On the two tasks of a cluster: slices are sent each time, or each task reads its part itself, once."""
    from course.cluster import local_cluster
    from course.mapreduce import PartSum, map_reduce, mean

    values = np.fromfile(data, np.float32, count)
    halves = [(data, 0, count // 2), (data, count // 2, count - count // 2)]
    with local_cluster(worker=2) as cluster:
        executor = cluster.executor

        def read_there():  # the data never pass through here
            return map_reduce(_sum_of_part, PartSum.__add__, halves, executor, associative=True).mean

        yield {
            "sent": Work(lambda: mean(values, 2, executor), float, warm_ups=1),
            "read there": Work(read_there, float),
        }


_kept: dict = {}  # a task's parts: read once, as the peers' are


def _sum_of_part(part):
    from course.mapreduce import part_sum

    if part not in _kept:
        data, first, count = part
        _kept[part] = np.fromfile(data, np.float32, count, offset=4 * first)
    return part_sum(_kept[part])


def errors(data, count):
    """How far each sum is off on the first millions of numbers."""
    import torch

    from course.mapreduce import mean

    values = np.fromfile(data, np.float32, count)
    exact = math.fsum(values.tolist()) / count
    ways = {
        "a running sum in float32": lambda: np.add.accumulate(values)[-1] / count,
        "numpy.mean": values.mean,
        "torch.mean, float32": torch.from_numpy(values).mean,
        _MEAN: lambda: mean(values),
    }
    off = {name: abs(float(way()) - exact) / exact for name, way in ways.items()}
    return Work(lambda: {_ERROR: off}, figures=True, warm_ups=0)
