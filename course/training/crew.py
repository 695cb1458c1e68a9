"""Who opens the shards and who works: the tasks of a cluster that the session has a connection to."""

import time
from contextlib import contextmanager

from course.training.presence import present
from course.training.talk import SILENCE, TrainingError, open_talk, work_in_task


class Crew:
    """The ps tasks and worker tasks of `cluster` that take part in one training of `plan`.

    A worker's loop is a Dask function pinned to its task: it runs again on the successor of one that died.
    """

    #: One session, from the beginning to the end: it took nothing over, and nobody else may.
    epoch, training, took_over = 0, None, False
    #: Whether the shards that `opened` gave last are another session's.
    attached = False

    def __init__(self, cluster, plan):
        self.cluster, self.plan = cluster, plan

    @contextmanager
    def opened(self, ps, settings, incarnation, snapshot):
        """Within the `with`, shards run in the tasks `ps`; yields the `Talk` with them. Raises ShardLost."""
        plan = self.plan
        with open_talk(self.cluster, ps, plan.problem, plan.optimizer, settings, incarnation, snapshot) as talk:
            yield talk

    def ps_there(self):
        """Return those of the ps tasks that answer, after giving lost ones a moment to come back."""
        return present(self.cluster, self.plan.ps)

    @contextmanager
    def working(self, talk):
        """Within the `with`, every worker task runs its loop; after a good end they are free again."""
        futures = []
        try:
            for index, task in enumerate(self.plan.workers):
                with self.cluster.at(task):
                    arguments = (self.plan.problem, index, talk.where, self.plan.seed)
                    futures.append(self.cluster.client.submit(_work_aside, *arguments, pure=False))
            yield
            _wait(futures)
        finally:
            for future in futures:
                future.release()

    def check(self):
        """Raise TrainingError when the cluster is closed or its scheduler lost: nobody could be replaced any more."""
        try:
            self.cluster.client  # noqa: B018 - asking for it is the check
        except RuntimeError as error:
            raise TrainingError(f"the cluster is gone: {error}") from error


def warm(cluster, ps):
    """Have the `ps` tasks import what a first optimiser imports (seconds), while the caller does; return futures."""
    futures = []
    for task in ps:
        with cluster.at(task):
            futures.append(cluster.client.submit(_import_optimizers, pure=False))
    return futures


def _import_optimizers():
    import torch

    torch.optim.SGD([torch.zeros(1)], lr=0.1)


def _work_aside(problem, worker, where, seed):
    """Run the loop beside the task's own thread: one that still waits for a lost ps must not hold up its successor."""
    from distributed import secede

    secede()
    return work_in_task(problem, worker, where, seed)


def _wait(futures):
    """Give the worker loops a moment to see the end, so that the next training finds the machine quiet."""
    deadline = time.monotonic() + SILENCE
    while time.monotonic() < deadline and not all(future.done() for future in futures):
        time.sleep(0.005)
