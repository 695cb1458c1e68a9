"""Trials of the digits, of fixed length and none pruned: trials a second on two workers, beside one.

A worker is a task of the cluster with one thread of PyTorch; the hyperparameters are the same in every run.
"""

from contextlib import contextmanager

from benchmarks.contest import OURS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_TWO, _ONE = "tune on 2 workers", "tune on 1 worker"


def contests(quick, places):
    """Yield the one contest."""
    trials, steps = 12 if quick else 40, 300  # steps as `tune` takes them by itself

    def one(name, way, kind):
        arguments = {"trials": trials, "steps": steps}
        return Contestant(name, f"{__name__}:tuned", arguments, kind, amount=trials, way=way)

    everyone = (one(_TWO, "2", OURS), one(_ONE, "1", "peer"))
    found = {}

    def right(contestant, answer):
        return "" if found.setdefault("first", answer) == answer else f"{answer}, not {found['first']}"

    yield Contest(
        f"{trials} trials", "trials/s", everyone, "more", 1, 2 if quick else 3, (Target(_TWO, _ONE, least=1.7),), right
    )


@contextmanager
def tuned(trials, steps):
    """`tune` by random search, on a cluster of two workers and on one of one, both of this machine."""
    from course.cluster import local_cluster
    from course.training import mnist
    from course.tuning import tune

    space, settings = {"learning_rate": (0.01, 10.0, "log")}, {"search": "random", "pruning": False, "progress": False}
    problem = mnist()
    with local_cluster(worker=2) as two, local_cluster(worker=1) as one:

        def run(cluster):
            return tune(problem, space, cluster, trials=trials, steps=steps, **settings)

        for workers, cluster in ((2, two), (1, one)):
            _compute_on_one_thread(cluster)
            tune(problem, space, cluster, trials=2 * workers, steps=20, **settings)  # imports
        answer = lambda result: [result.best.number, result.value]  # noqa: E731
        yield {
            "2": Work(lambda: run(two), answer, warm_ups=0),
            "1": Work(lambda: run(one), answer, warm_ups=0),
        }


def _compute_on_one_thread(cluster):
    import torch

    for task in cluster.tasks:
        with cluster.at(task):  # in the thread that has the trials: OpenMP keeps the number for each
            cluster.executor.submit(torch.set_num_threads, 1).result(60)
