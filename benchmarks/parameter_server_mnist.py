"""MNIST-size steps a second (314 kB of parameters) over TLS: a parameter server and 2 workers, beside its peers.

All processes are on one host, where course.training keeps the tensors of a step in memory that they share. "Sent" is
the same with all bytes over the sockets, as between hosts, and as bare sockets do it.
"""

from contextlib import contextmanager

from benchmarks.peers.actor import actor_rate
from benchmarks.peers.bare import bare_sockets
from benchmarks.peers.recorded import RAY_ACTOR_314_KILOBYTES, TENSORFLOW_DIGITS_ASYNC, TENSORFLOW_DIGITS_SYNC
from benchmarks.peers.tensorflow_digits import tensorflow_rate
from benchmarks.peers.turns import Turns
from benchmarks.report import Row
from course.cluster import local_cluster
from course.training import train
from course.training.problems.mnist import mnist

_STEPS, _REPEATS = 1000, 5
_RECORDED = {"async": TENSORFLOW_DIGITS_ASYNC, "sync": TENSORFLOW_DIGITS_SYNC}


def rows():
    """Yield the figures; ratios are medians of the ratios of runs that stood next to each other."""
    problem, optimizer = mnist(), mnist.TUNED.made()
    with local_cluster(ps=1, worker=2) as cluster, bare_sockets(problem, optimizer) as bare:

        def ours(mode, steps=_STEPS):
            return train(problem, cluster, optimizer=optimizer, mode=mode, total_steps=steps).steps_per_second

        def sent(mode, steps=_STEPS):
            with _nothing_shared(cluster):
                return ours(mode, steps)

        forms = {
            "async": lambda: ours("async"),
            "sent async": lambda: sent("async"),
            "bare async": lambda: bare(_STEPS, "async"),
            "sync": lambda: ours("sync", _STEPS // 2),
            "sent sync": lambda: sent("sync", _STEPS // 2),
            "bare sync": lambda: bare(_STEPS // 2, "sync"),
            "none": lambda: bare(_STEPS, "none"),
            "actor": lambda: actor_rate(problem, optimizer, cluster, _STEPS // 4),
        }
        Turns(forms, 1)  # warm
        turns = Turns(forms, _REPEATS)
    unit = "updates/s"
    for mode, recorded in _RECORDED.items():
        for what, form in ((f"{mode}, sent", f"sent {mode}"), (f"{mode}, in shared memory", mode)):
            beside, ratio = turns.median(f"bare {mode}"), turns.ratio(form, f"bare {mode}")
            yield Row(what, turns.median(form), unit, f"bare sockets, {mode}", beside, "≥0.8×", ratio)
        rate = turns.median(mode)
        beside = tensorflow_rate(problem, mode, _STEPS)
        name = "TensorFlow's program, " + ("recorded on another machine" if beside is None else "here")
        yield Row(what, rate, unit, name, recorded if beside is None else beside, "≥3×")
    what, rate = "async, in shared memory", turns.median("async")
    yield Row(what, rate, unit, "a Dask Actor", turns.median("actor"), "≥2×", turns.ratio("async", "actor"))
    yield Row(what, rate, unit, "a Ray actor's round trips, recorded", RAY_ACTOR_314_KILOBYTES)
    limit = "workers that only compute (the limit)"
    yield Row(what, rate, unit, limit, turns.median("none"), ratio=turns.ratio("async", "none"))


@contextmanager
def _nothing_shared(cluster):
    """Within the `with`, workers offer no shared memory, however large the tensors."""

    def least(size):
        from course.training.transport import shared_memory

        before, shared_memory.LEAST = shared_memory.LEAST, size
        return before

    before = set(cluster.client.run(least, 1 << 60).values()).pop()
    try:
        yield
    finally:
        cluster.client.run(least, before)
