"""What a checkpoint costs a running training: how long updates stop for it, and the updates a second that it takes."""

import statistics
import tempfile
import time
from functools import partial

import numpy
import torch

from benchmarks.report import Row
from course.cluster import local_cluster
from course.training import Hook, ParameterServer, train
from course.training.problems.mnist import mnist

_SGD = partial(torch.optim.SGD, lr=0.5, momentum=0.9)  # momentum: state as large as the parameters


class SaveAt(Hook):
    """Saves at each of `steps`; `.cuts` are the versions at which the snapshots were cut."""

    def __init__(self, steps):
        self._steps, self.cuts = sorted(steps, reverse=True), []

    def after_run(self, session, step):
        if self._steps and step.step >= self._steps[-1]:
            self._steps.pop()
            session.save("the benchmark")

    def event(self, session, event):
        if event.what == "checkpoint saved":
            self.cuts.append(event.step)


def rows():
    """Yield the figures for 314 kB of parameters and for 50 MB, beside one copy of the same state in this process."""
    small, large = mnist(), mnist(hidden=15_700, batch_size=4)
    with local_cluster(ps=1, worker=2) as cluster:
        train(small, cluster, optimizer=_SGD, total_steps=50)  # warm
        yield from _cost("314 kB", small, cluster, 1000, range(100, 1000, 100))
        yield from _cost("50 MB", large, cluster, 60, range(10, 60, 10))


def _cost(size, problem, cluster, total_steps, saves):
    run = partial(train, problem, cluster, optimizer=_SGD, total_steps=total_steps)
    with tempfile.TemporaryDirectory() as folder:
        # the first training of a pair may be the slower one: without, with, without
        before = run().steps_per_second
        hook = SaveAt(saves)
        result = run(hooks=[hook], checkpoint_dir=folder)
        after = run().steps_per_second
    gaps = numpy.diff(result.history["applied"])  # gaps[v − 1]: from update v to update v + 1
    usual = float(numpy.median(gaps))
    stops = [float(gaps[cut - 1]) for cut in hook.cuts if 0 < cut <= len(gaps)]
    what = f"updates stopped for a snapshot, {size}: median of {len(stops)}"
    yield Row(
        what, 1e3 * max(0.0, statistics.median(stops) - usual), "ms", "one copy", 1e3 * _copy(problem), "about 1×"
    )
    yield Row(f"the longest of them, {size}", 1e3 * max(stops), "ms", "a usual update", 1e3 * usual)
    rate = "updates/s"
    yield Row(f"with {len(stops)} checkpoints", result.steps_per_second, rate, "without", (before + after) / 2)


def _copy(problem):
    """Return the median seconds of copying parameters and optimiser state once."""
    store = ParameterServer(problem.initial(), _SGD)
    store.push({name: torch.zeros_like(value) for name, value in problem.initial().items()}, 0)
    seconds = []
    for _ in range(15):
        started = time.perf_counter()
        store.state()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)
