"""Regression steps a second over TLS: a parameter server and 2 workers, beside bare sockets and a Dask Actor."""

from functools import partial

import torch

from benchmarks.peers.actor import actor_rate
from benchmarks.peers.bare import bare_sockets
from benchmarks.peers.recorded import BARE_SOCKETS_LINE, RAY_ACTOR_8_BYTES, TENSORFLOW_LINE
from benchmarks.peers.turns import Turns
from benchmarks.report import Row
from course.cluster import local_cluster
from course.training import linear_regression, train

_STEPS, _REPEATS = 3000, 5
_SGD = partial(torch.optim.SGD, lr=0.02)


def rows():
    """Yield the figures; ratios are medians of the ratios of runs that stood next to each other."""
    problem = linear_regression()
    with local_cluster(ps=1, worker=2) as cluster, bare_sockets(problem, _SGD) as bare:

        def ours(mode, steps):
            return train(problem, cluster, optimizer=_SGD, mode=mode, total_steps=steps).steps_per_second

        forms = {
            "async": lambda: ours("async", _STEPS),
            "bare": lambda: bare(_STEPS),
            "sync": lambda: ours("sync", _STEPS // 3),
            # a slower form: fewer steps for the same precision
            "actor": lambda: actor_rate(problem, _SGD, cluster, _STEPS // 4),
        }
        Turns(forms, 1)  # warm
        turns = Turns(forms, _REPEATS)
    what, rate, unit = "async, course.training", turns.median("async"), "updates/s"
    yield Row(what, rate, unit, "bare sockets", turns.median("bare"), "≥0.8×", turns.ratio("async", "bare"))
    yield Row(what, rate, unit, "a Dask Actor", turns.median("actor"), "≥3×", turns.ratio("async", "actor"))
    there = turns.ratio("async", "bare") * BARE_SOCKETS_LINE
    paced = "async, at the pace of the recorded machine"
    yield Row(paced, there, unit, "a Ray actor's round trips, recorded", RAY_ACTOR_8_BYTES, "≥2.5×")
    yield Row(paced, there, unit, "TensorFlow's program, recorded", TENSORFLOW_LINE, "≥4×")
    what = "sync, course.training (2 gradients an update)"
    yield Row(what, turns.median("sync"), unit, "async", rate, ratio=turns.ratio("sync", "async"))
