"""`python -m course train`: start a parameter server and workers on this machine, train, and say what came out."""

import math
from functools import partial

import torch

from course.training.hooks import StopOnNaN
from course.training.problem import linear_regression
from course.training.session import train

#: name -> (the problem, its optimiser and its learning rate): the two regressions of the classic tutorials.
PROBLEMS = {
    "linear": (linear_regression, "sgd", 0.02),
    "linear-101": (partial(linear_regression, slope=2, intercept=0.2, noise=0.4, points=101), "adagrad", 0.8),
}
OPTIMIZERS = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}


def report(problem, mode, workers, steps, optimizer=None, learning_rate=None, seed=0):
    """Train and yield lines of text: what runs, the parameters beside the exact answer, speed and staleness.

    `optimizer` and `learning_rate` default to the problem's own. Raises as `train` does.
    """
    from course.cluster import local_cluster

    make, usual_optimizer, usual_rate = PROBLEMS[problem]
    optimizer, rate = optimizer or usual_optimizer, usual_rate if learning_rate is None else learning_rate
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"--learning-rate {rate}: give a finite number above 0, such as {usual_rate}.")
    line = make()
    yield f"{line}: {mode}, {optimizer} with learning rate {rate:g}, {steps} updates"
    with local_cluster(ps=1, worker=workers) as cluster:
        yield f"running: {', '.join(cluster.tasks)}"
        made = partial(OPTIMIZERS[optimizer], lr=rate)
        result = train(line, cluster, optimizer=made, mode=mode, total_steps=steps, hooks=[StopOnNaN()], seed=seed)
    yield from _outcome(line, result)


def _outcome(line, result):
    best = line.least_squares()
    for name in ("slope", "intercept"):
        value, exact, error = result.parameters[name].item(), getattr(best, name), getattr(best, f"{name}_error")
        off = abs(value - exact) / error
        yield f"{name:<9} {value:8.3f}   least squares {exact:.3f} ± {error:.3f}: {off:.1f} standard errors off"
    gradients = "" if result.mode == "async" else f" of {len(result.history) / max(1, result.version):g} gradients each"
    yield f"{result.version} updates{gradients} in {result.seconds:.2f} s: {result.steps_per_second:,.0f} a second"
    counts = ", ".join(f"{late}: {count}" for late, count in result.staleness_counts().items())
    yield f"staleness (updates late: gradients)  {counts}"
    if result.stopped_by:
        yield f"stopped: {result.stopped_by}"
