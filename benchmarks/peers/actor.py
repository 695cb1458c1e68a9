"""The usual way on Dask: the store is an Actor on the ps task, workers await each push_pull."""

import time

import torch

from course.training import ParameterServer, batch_generator


class StoreActor:
    """A `ParameterServer` as a Dask Actor."""

    def __init__(self, parameters, optimizer):
        self.store = ParameterServer(parameters, optimizer)

    def pull(self):
        """Return (version, parameters)."""
        return self.store.pull()

    def push_pull(self, gradients, version):
        """Push, then pull."""
        return self.store.push_pull(gradients, version)


def actor_rate(problem, optimizer, cluster, steps, workers=2):
    """Return asynchronous updates a second of `steps` updates by `workers` tasks of the cluster."""
    with cluster.at("/job:ps/task:0"):
        actor = cluster.client.submit(StoreActor, problem.initial(), optimizer, actor=True, pure=False).result(30)
    each, futures = steps // workers, []
    sent = cluster.client.scatter(problem, broadcast=True, hash=False)  # before the clock starts
    started = time.perf_counter()
    for worker in range(workers):
        with cluster.at(f"/job:worker/task:{worker}"):
            futures.append(cluster.client.submit(_work, sent, worker, actor, each, pure=False))
    for future in futures:
        future.result(300)
    return each * workers / (time.perf_counter() - started)


def _work(problem, worker, actor, steps):
    generator = torch.Generator()
    version, parameters = actor.pull().result()
    for _ in range(steps):
        leaves = {name: value.requires_grad_() for name, value in parameters.items()}
        batch = problem.batch(worker, version, batch_generator(0, worker, version, generator))
        gradients = torch.autograd.grad(problem.loss(leaves, batch), list(leaves.values()))
        version, parameters = actor.push_pull(dict(zip(leaves, gradients, strict=True)), version).result()
