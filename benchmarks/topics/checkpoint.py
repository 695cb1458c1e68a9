"""What a checkpoint costs a running training: how long updates stop for it, beside one copy of the same state."""

import statistics
import tempfile
import time
from contextlib import contextmanager
from functools import partial

import numpy
import torch

from benchmarks.contest import LIMIT, OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from course.training import Hook

_SGD = partial(torch.optim.SGD, lr=0.5, momentum=0.9)  # momentum: state as large as the parameters
_STOPPED, _LONGEST, _COPY, _USUAL = (
    "updates stopped",
    "the longest of them",
    "one copy in one process",
    "a usual update",
)
#: what -> (hidden units, batch, steps, between two checkpoints)
_SIZES = {"314 kB": (100, 100, 1000, 100), "50 MB": (15_700, 4, 60, 10)}


class SaveAt(Hook):
    """Saves at each of `steps`; `.cuts` are the versions at which the snapshots were cut."""

    def __init__(self, steps):
        self._steps, self.cuts = sorted(steps, reverse=True), []

    def after_run(self, session, step):
        """Save when the next of the steps is there."""
        if self._steps and step.step >= self._steps[-1]:
            self._steps.pop()
            session.save("the benchmark")

    def event(self, session, event):
        """Keep the version of a checkpoint."""
        if event.what == "checkpoint saved":
            self.cuts.append(event.step)


def contests(quick, places):
    """Yield for each size how long updates stop, and how many updates a second are left."""
    named = []
    for size in _SIZES:
        stops = (Contestant(_STOPPED, kind=OURS), Contestant(_LONGEST, kind=OURS), Contestant(_COPY, kind=LIMIT))
        targets = (Target(_STOPPED, _COPY, most=1.2),) if size == "50 MB" else ()
        named.append(Contest(f"A checkpoint of {size}", "ms", (*stops, Contestant(_USUAL)), "less", targets=targets))
        pair = (Contestant("with checkpoints", kind=OURS), Contestant("without"))
        named.append(Contest(f"Training with checkpoints of {size}", "updates/s", pair))
    work = Contestant("checkpoints", f"{__name__}:figures", {"quick": quick}, OURS, patience=200)
    yield Together((work,), tuple(named), rounds=1 if quick else 3)


@contextmanager
def figures(quick):
    """Train both sizes on one cluster, without, with and without checkpoints; `quick`: fewer steps and saves."""
    from course.cluster import local_cluster
    from course.training import train
    from course.training.problems.mnist import mnist

    with local_cluster(ps=1, worker=2) as cluster:
        train(mnist(), cluster, optimizer=_SGD, total_steps=50)

        def run():
            found = {}
            for size, (hidden, batch, steps, between) in _SIZES.items():
                problem = mnist(hidden=hidden, batch_size=batch)
                steps, between = (steps * 2 // 5, between * 3 // 5) if quick else (steps, between)
                found |= _cost(size, problem, cluster, steps, range(between, steps, between), quick)
            return found

        yield Work(run, figures=True, warm_ups=0)


def _cost(size, problem, cluster, total_steps, saves, quick):
    from course.training import train

    run = partial(train, problem, cluster, optimizer=_SGD, total_steps=total_steps)
    with tempfile.TemporaryDirectory() as folder:
        # the first training of a pair may be the slower one: without, with, without
        before = None if quick else run().steps_per_second
        hook = SaveAt(saves)
        result = run(hooks=[hook], checkpoint_dir=folder)
        after = run().steps_per_second
    gaps = numpy.diff(result.history["applied"])  # gaps[v − 1]: from update v to update v + 1
    usual = float(numpy.median(gaps))
    stops = [float(gaps[cut - 1]) for cut in hook.cuts if 0 < cut <= len(gaps)]
    stopped = 1e3 * max(0.0, statistics.median(stops) - usual)
    times = {_STOPPED: stopped, _LONGEST: 1e3 * max(stops), _COPY: 1e3 * _copy(problem), _USUAL: 1e3 * usual}
    rates = {"with checkpoints": result.steps_per_second, "without": (before + after) / 2 if before else after}
    return {f"A checkpoint of {size}": times, f"Training with checkpoints of {size}": rates}


def _copy(problem):
    """Return the median seconds of copying parameters and optimiser state once."""
    from course.training import ParameterServer

    store = ParameterServer(problem.initial(), _SGD)
    store.push({name: torch.zeros_like(value) for name, value in problem.initial().items()}, 0)
    seconds = []
    for _ in range(15):
        started = time.perf_counter()
        store.state()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)
