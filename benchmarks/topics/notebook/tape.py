"""What a tape costs: the recorder's CPU time as a share of the run's time, and bytes a task."""

import time
from functools import partial, wraps

import torch

from benchmarks.contest import OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from course import local_cluster, training
from course.cluster.tape.on_worker import Notes

_TASKS, _TRAINING, _BYTES = "a tape of tasks of 2 ms", "a tape of a training", "a tape's bytes a task"


def contests(quick, places):
    """Yield the share of a run of small tasks, and of a training, that goes into the recorder; and bytes a task."""
    units = ((_TASKS, "% of the run", 3), (_TRAINING, "% of the run", 3), (_BYTES, "bytes", 30))
    named = tuple(
        Contest(title, unit, (Contestant("cluster.record()", kind=OURS),), "less", targets=(_most(most),))
        for title, unit, most in units
    )
    work = Contestant("a tape", f"{__name__}:figures", {"tasks": 500 if quick else 2000}, OURS)
    yield Together((work,), named, rounds=1 if quick else 3)


def _most(figure):
    return Target("cluster.record()", most=figure)


def figures(tasks):
    """Record `tasks` tasks of 2 ms on two processes, and four times as many updates of a line by them."""
    return Work(lambda: _measured(tasks), figures=True, warm_ups=0, elsewhere=("dask", "distributed"))


def _measured(tasks):
    with local_cluster(ps=1, worker=2) as cluster:
        list(cluster.executor.map(_busy, range(20)))
        spent, seconds, record = _recorded(cluster, lambda: list(cluster.executor.map(_busy, range(tasks))))
        nbytes = (record.nbytes - 22 * len(record.moves)) / len(record.bars)  # transfers have rows of their own
        settings = {"optimizer": partial(torch.optim.SGD, lr=0.01), "mode": "async", "total_steps": 4 * tasks}
        run = partial(training.train, training.linear_regression(), cluster, **settings)
        run()
        noted, lasted, _ = _recorded(cluster, run)
    shares = {_TASKS: 100 * spent / seconds, _TRAINING: 100 * noted / lasted, _BYTES: nbytes}
    return {title: {"cluster.record()": figure} for title, figure in shares.items()}


def _recorded(cluster, run):
    """Run it on a tape; return the seconds inside the recorder, the run's own, and the record.

    The scheduler lives in this process, and so does what drives a training, in threads that wait for one another: so
    their CPU time counts. What workers note is timed here, too.
    """
    spent, scheduler = [0.0], cluster._runtime._scheduler
    with cluster.record() as tape:
        ((name, plugin),) = [one for one in scheduler.plugins.items() if one[0].startswith("course-tape")]
        scheduler.handlers[name] = _timed_notes(scheduler.handlers[name], spent)
        plugin.transition = _timed(plugin.transition, spent)
        for told in ("sent", "trained"):
            setattr(tape.recorder, told, _timed(getattr(tape.recorder, told), spent))
        begun = time.perf_counter()
        run()
        seconds = time.perf_counter() - begun
    gradients = sum(bar.number >= 0 for bar in tape.record.bars)
    return spent[0] + gradients * _of_a_note(), seconds, tape.record


def _timed(method, spent):
    @wraps(method)
    def timed(*args, **settings):
        begun = time.thread_time()
        try:
            return method(*args, **settings)
        finally:
            spent[0] += time.thread_time() - begun

    return timed


def _timed_notes(method, spent):
    """Return what takes a worker's notes; it waits for nothing, so all of its time counts."""

    @wraps(method)
    async def timed(*args, **settings):
        begun = time.thread_time()
        await method(*args, **settings)
        spent[0] += time.thread_time() - begun

    return timed


def _of_a_note():
    """Return the seconds in which a worker notes a gradient: the mean of ten thousand."""
    notes, begun = Notes(), time.perf_counter()
    for version in range(10_000):
        notes.gradient(time.time(), version)
    return (time.perf_counter() - begun) / 10_000


def _busy(number):
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass
    return number
