"""Training, a parameter server and 2 workers over TLS: updates a second of a line (8 B) and of digits (314 kB).

All processes are on one host, where `course.training` keeps the tensors of a step in memory that they share; "sent" is
the same with all bytes over the sockets, as between hosts, and as bare sockets do it. One update of the synchronous
forms takes two gradients.
"""

from contextlib import contextmanager
from functools import partial

import numpy as np

from benchmarks import whole_file
from benchmarks.contest import LIMIT, OURS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_ASYNC, _SYNC, _SENT = "course.training, async", "course.training, sync", "course.training, async, sent"
_BARE, _BARE_SYNC, _ALONE = "bare TLS sockets, async", "bare TLS sockets, sync", "workers that only compute"
_ACTOR, _RAY, _TF, _TF_SYNC = "a Dask Actor", "a Ray actor", "TensorFlow, classic, async", "TensorFlow, classic, sync"


def contests(quick, places):
    """Yield a contest for the line, and one for the digits, which alone is held when it must be `quick`."""
    targets = (Target(_ASYNC, _BARE, least=0.8), Target(_ASYNC, _ACTOR, least=3), Target(_ASYNC, _RAY, least=2.5))
    targets += (Target(_ASYNC, _TF, least=4), Target(_SYNC, _ASYNC, least=0.4))
    if not quick:
        yield _contest("Regression, 8 B", "line", 3000, quick, places, targets)
    targets = (
        Target(_ASYNC, _ALONE, least=0.75),
        Target(_SENT, _BARE, least=0.8),
        Target(_SYNC, _BARE_SYNC, least=0.8),
    )
    targets += (Target(_ASYNC, _ACTOR, least=2), Target(_ASYNC, _TF, least=3), Target(_SYNC, _TF_SYNC, least=3))
    targets += (Target(_SYNC, _ASYNC, least=0.4),)
    yield _contest("Digits, 314 kB", "digits", 1000, quick, places, targets)


def _contest(title, problem, steps, quick, places, targets):
    steps = steps // 4 if quick else steps
    data = _data(problem, places.folder)

    def one(name, work, kind="peer", needs="", way="", **arguments):
        slow = bool(needs)  # Ray and TensorFlow start in 10 s
        return Contestant(name, work, arguments, kind, needs, slow=slow, way=way)

    here, bare, classic = f"{__name__}:ours", f"{__name__}:bare", "benchmarks.peers.tensorflow_classic:program"
    tf = "tensorflow-cpu" if "tensorflow-cpu" in places.peers else "tensorflow"
    everyone = [
        one(_ASYNC, here, OURS, way="async", problem=problem, steps=steps),
        one(_SYNC, here, OURS, way="sync", problem=problem, steps=steps),
        one(_BARE, bare, way="async", problem=problem, steps=steps),
        one(_BARE_SYNC, bare, way="sync", problem=problem, steps=steps),
        one(_ACTOR, f"{__name__}:actor", problem=problem, steps=steps // 6),
        one(_RAY, "benchmarks.peers.ray_ways:parameter_server", needs="ray", data=data, steps=steps // 6),
        one(_TF, classic, needs=tf, data=data, mode="async", steps=steps // 6),
        one(_TF_SYNC, classic, needs=tf, data=data, mode="sync", steps=steps // 12),
        one(_ALONE, bare, LIMIT if problem == "digits" else "peer", way="none", problem=problem, steps=steps),
    ]
    if problem == "digits":
        everyone.insert(2, one(_SENT, here, OURS, way="sent", problem=problem, steps=steps))
    return Contest(title, "updates/s", tuple(everyone), "more", 1, 2 if quick else 7, targets)


def _data(problem, folder):
    path, made = folder / f"{problem}.npz", _problem(problem)[0]
    if not path.exists():
        names = ("images", "labels") if problem == "digits" else ("x", "y")
        arrays = {name: getattr(made, name).numpy() for name in names}
        whole_file.write(path, lambda unfinished: np.savez(unfinished, **arrays))
    return str(path)


def _problem(name):
    import torch

    from course.training import linear_regression
    from course.training.problems.mnist import mnist

    if name == "digits":
        return mnist(), mnist.TUNED.made()
    return linear_regression(), partial(torch.optim.SGD, lr=0.02)


def _rate(run):
    return Work(run, seconds=lambda rate: 1 / rate, warm_ups=1)


@contextmanager
def ours(problem, steps):
    """`train` on a cluster of this machine: asynchronous and synchronous, its tensors shared, or all of them sent."""
    from course.cluster import local_cluster
    from course.training import train

    problem, optimizer = _problem(problem)
    with local_cluster(ps=1, worker=2) as cluster:
        usual = next(iter(cluster.client.run(_share_from, None).values()))

        def run(mode, steps, least=usual):
            cluster.client.run(_share_from, least)
            rule = {"optimizer": optimizer, "mode": mode, "total_steps": steps}
            return train(problem, cluster, **rule).steps_per_second

        yield {
            "async": _rate(lambda: run("async", steps)),
            "sync": _rate(lambda: run("sync", steps // 2)),
            "sent": _rate(lambda: run("async", steps, 1 << 60)),
        }


def _share_from(least):
    """Share tensors from so many bytes on (None: as it is); return from how many they were."""
    from course.training.transport import shared_memory

    before = shared_memory.LEAST
    shared_memory.LEAST = before if least is None else least
    return before


@contextmanager
def bare(problem, steps):
    """The same step on blocking sockets and nothing else; "none": workers that compute and tell nobody."""
    from benchmarks.peers.bare import bare_sockets

    with bare_sockets(*_problem(problem)) as rate:
        share = {"async": steps, "sync": steps // 2, "none": steps}
        yield {mode: _rate(lambda mode=mode, steps=steps: rate(steps, mode)) for mode, steps in share.items()}


@contextmanager
def actor(problem, steps):
    """The usual way on Dask: the store is an Actor."""
    from benchmarks.peers.actor import actor_rate
    from course.cluster import local_cluster

    with local_cluster(ps=1, worker=2) as cluster:
        yield _rate(lambda: actor_rate(*_problem(problem), cluster, steps))
