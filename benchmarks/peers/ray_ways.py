"""Ray: its cluster's start, tiny tasks, and a parameter server that is an actor with two workers that are actors."""

import time
from contextlib import contextmanager

import numpy as np

from benchmarks.contestant import Work

_QUIET = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}


def start(tasks, title, name):
    """The first cluster of a process, until so many of its workers have answered; ended outside the clock."""
    import ray

    def run():
        began = time.perf_counter()
        ray.init(num_cpus=tasks, **_QUIET)
        wait = ray.remote(num_cpus=1)(lambda: time.sleep(0.05))  # long enough that no worker takes two
        ray.get([wait.remote() for _ in range(tasks)])
        seconds = time.perf_counter() - began
        ray.shutdown()
        return {title: {name: seconds}}

    return Work(run, figures=True, warm_ups=0)


@contextmanager
def tasks(count, workers):
    """`count` tasks that do nothing, on so many workers."""
    import ray

    ray.init(num_cpus=workers, **_QUIET)
    try:
        double = ray.remote(num_cpus=1)(lambda number: 2 * number)
        yield Work(lambda: ray.get([double.remote(number) for number in range(count)]), sum)
    finally:
        ray.shutdown()


@contextmanager
def parameter_server(data, steps, workers=2):
    """Asynchronous updates: torch's gradients pushed to an actor that answers with the parameters."""
    import ray

    ray.init(num_cpus=workers + 1, **_QUIET)
    try:
        store = ray.remote(num_cpus=1)(_Store).remote(data)
        made = [ray.remote(num_cpus=1)(_Worker).remote(data, store, index) for index in range(workers)]

        def run():
            began = time.perf_counter()
            ray.get([one.work.remote(steps // workers) for one in made])
            return steps // workers * workers / (time.perf_counter() - began)

        yield Work(run, seconds=lambda rate: 1 / rate, warm_ups=1)
    finally:
        ray.shutdown()


class _Store:
    def __init__(self, data):
        import torch

        torch.set_num_threads(1)
        self._parameters = [value.requires_grad_() for value in _first(data)]
        self._optimizer = torch.optim.SGD(self._parameters, lr=0.5 if len(self._parameters) > 2 else 0.02)

    def push_pull(self, gradients):
        import torch

        for parameter, gradient in zip(self._parameters, gradients or (), strict=bool(gradients)):
            parameter.grad = torch.from_numpy(np.array(gradient))
        self._optimizer.step()
        return [value.detach().numpy() for value in self._parameters]


class _Worker:
    def __init__(self, data, store, index):
        import torch

        torch.set_num_threads(1)
        loaded = np.load(data)
        self._digits = "images" in loaded
        x, y = (
            (loaded["images"].astype(np.float32) / 255, loaded["labels"])
            if self._digits
            else (loaded["x"], loaded["y"])
        )
        self._x, self._y = torch.from_numpy(x), torch.from_numpy(y)
        self._store, self._generator = store, torch.Generator().manual_seed(index)

    def work(self, steps):
        import ray
        import torch

        values = ray.get(self._store.push_pull.remote(None))
        for _ in range(steps):
            leaves = [torch.from_numpy(np.array(value)).requires_grad_() for value in values]
            gradients = torch.autograd.grad(self._loss(leaves), leaves)
            values = ray.get(self._store.push_pull.remote([one.numpy() for one in gradients]))

    def _loss(self, leaves):
        import torch

        chosen = torch.randint(len(self._x), (100 if self._digits else 32,), generator=self._generator)
        x, y = self._x[chosen], self._y[chosen]
        if not self._digits:
            return ((leaves[0] * x + leaves[1] - y) ** 2).mean()
        hidden = torch.sigmoid(torch.addmm(leaves[1], x, leaves[0]))
        return torch.nn.functional.cross_entropy(torch.addmm(leaves[3], hidden, leaves[2]), y)


def _first(data):
    import torch

    if "images" not in np.load(data):
        return [torch.zeros(()), torch.zeros(())]
    drawn = [torch.randn(size) * size[0] ** -0.5 for size in ((784, 100), (100, 10))]
    return [drawn[0], torch.zeros(100), drawn[1], torch.zeros(10)]
