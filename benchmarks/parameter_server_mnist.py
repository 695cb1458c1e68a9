"""MNIST-size steps a second (314 kB of parameters) over TLS: a parameter server and 2 workers, beside its peers."""

from benchmarks.peers.actor import actor_rate
from benchmarks.peers.bare import bare_sockets
from benchmarks.peers.recorded import RAY_ACTOR_314_KILOBYTES, TENSORFLOW_DIGITS_ASYNC, TENSORFLOW_DIGITS_SYNC
from benchmarks.peers.turns import Turns
from benchmarks.report import Row
from course.cluster import local_cluster
from course.training import mnist, train

_STEPS, _REPEATS = 1000, 5


def rows():
    """Yield the figures; ratios are medians of the ratios of runs that stood next to each other."""
    problem, optimizer = mnist(), mnist.TUNED.made()
    with local_cluster(ps=1, worker=2) as cluster, bare_sockets(problem, optimizer) as bare:

        def ours(mode, steps):
            return train(problem, cluster, optimizer=optimizer, mode=mode, total_steps=steps).steps_per_second

        forms = {
            "async": lambda: ours("async", _STEPS),
            "bare async": lambda: bare(_STEPS, "async"),
            "sync": lambda: ours("sync", _STEPS // 2),
            "bare sync": lambda: bare(_STEPS // 2, "sync"),
            "actor": lambda: actor_rate(problem, optimizer, cluster, _STEPS // 4),
        }
        Turns(forms, 1)  # warm
        turns = Turns(forms, _REPEATS)
    for mode, recorded in (("async", TENSORFLOW_DIGITS_ASYNC), ("sync", TENSORFLOW_DIGITS_SYNC)):
        what, rate = f"{mode}, course.training", turns.median(mode)
        beside, unit = turns.median(f"bare {mode}"), "updates/s"
        yield Row(what, rate, unit, f"bare sockets, {mode}", beside, "≥0.8×", turns.ratio(mode, f"bare {mode}"))
        if mode == "async":
            yield Row(what, rate, unit, "a Dask Actor", turns.median("actor"), "≥2×", turns.ratio(mode, "actor"))
            yield Row(what, rate, unit, "a Ray actor's round trips, recorded", RAY_ACTOR_314_KILOBYTES)
        yield Row(what, rate, unit, "TensorFlow's program, recorded", recorded, "≥3×")
