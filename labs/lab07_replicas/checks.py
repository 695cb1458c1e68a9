"""Lab 07's exercises in the notebook: tasks that note what they are asked, and when; a store; a descent that is late.

The oracles stand in `lab07_oracles`.
"""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from course.checks.exercise import Exercise, show, strategy

from . import oracles
from .driver import drive_descent, drive_sync

WAITS = 3.0  # seconds for all tasks to be asked; a thread starts in thousandths of one


@dataclass
class Tasks:
    """Tasks in threads of the notebook: each answers once all have been asked. `asked`: (task, left, right)."""

    count: int
    asked: list = field(default_factory=list)
    alone: set = field(default_factory=set)

    def __post_init__(self):
        self.barrier = threading.Barrier(self.count)

    def functions(self):
        """Return a function for each task."""
        return [lambda left, right, k=k: self._work(k, left, right) for k in range(self.count)]

    def _work(self, task, left, right):
        left, right = np.array(left, float), np.array(right, float)
        self.asked.append((task, left, right))
        try:
            self.barrier.wait(WAITS)
        except threading.BrokenBarrierError:
            self.alone.add(task)
        return left @ right


@contextmanager
def _with_tasks():
    def run(answer, arguments):
        a, b, count = arguments
        tasks = Tasks(count)
        return answer(a, b, tasks.functions()), tasks

    yield run


def _split_right(got, tasks, a, b, count):
    complaint = oracles.judge_product(got, tasks.asked, a, b, count)
    if complaint is None and tasks.alone:
        complaint = f"right; but task {min(tasks.alone)} was waited for before the others were asked"
    return complaint or True


def _driven(drive):
    @contextmanager
    def watch():
        yield lambda answer, arguments: (drive(answer, *arguments),)

    return watch


def _tensors():
    import torch

    for parameters, x, labels, shares in oracles.networks(_draw()):
        yield [torch.tensor(one) for one in parameters], torch.tensor(x), torch.tensor(labels), shares


def _gradients_right(got, parameters, x, labels, shares):
    plain = [one.numpy() for one in parameters], x.numpy(), labels.numpy(), shares
    names = ("the replicas' gradients", "their mean")
    try:
        found = [np.array([row.tolist() for row in got[0]], float), np.array(got[1].tolist(), float)]
    except (TypeError, ValueError, AttributeError, IndexError, KeyError):
        return "expected two tensors, the replicas' gradients and their mean"
    for one, due, name in zip(found, oracles.every_gradient(*plain), names, strict=True):
        if one.shape != due.shape:
            return f"expected {name} as a tensor of shape {due.shape}"
        if not np.allclose(one, due, rtol=1e-6, atol=1e-9):
            return f"expected {name} to be {show(due)}"
    return True


_drawn = partial(strategy, f"{__package__}.strategies")


def _draw():
    return np.random.default_rng(7)


def _syncs():
    for groups in (oracles.fixed_sync(), oracles.drawn_sync(_draw())):
        for group in groups.values():
            yield from group


# Neither the product nor the rate looks for smaller inputs: a task that is alone waits for seconds each time, a rate
# takes a while, and the fixed cases of both begin with the smallest there are.
EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "product_by_tasks",
            lambda: oracles.products(_draw()),
            accepts=_split_right,
            hint="np.array_split cuts the rows; a thread for each task lets all be asked before one has answered.",
            watch=_with_tasks,
        ),
        Exercise(
            "replica_gradients",
            _tensors,
            accepts=_gradients_right,
            hint="the loss of a share is a mean over its rows, so it counts as often as it has rows.",
            inputs=_drawn("networks"),
        ),
        Exercise(
            "sync_store",
            _syncs,
            accepts=lambda got, *arguments: oracles.judge_sync(got, *arguments) or True,
            hint="what waits is of one version and one push a worker; keep copies; add up in the order of the numbers.",
            inputs=_drawn("pushes"),
            watch=_driven(drive_sync),
        ),
        Exercise(
            "delayed_descent",
            lambda: [one for part in oracles.descents(_draw()) for one in part],
            accepts=lambda got, *arguments: oracles.judge_descent(got, *arguments) or True,
            hint="version 1 is made from version 0's gradient, and so are the next ones, as many as the delay.",
            inputs=_drawn("descents"),
            watch=_driven(drive_descent),
        ),
        Exercise(
            "stable_rate",
            lambda: [one for part in oracles.parabolas(_draw()) for one in part],
            accepts=lambda got, *arguments: oracles.judge_rate(got, *arguments) or True,
            hint="without delay it is 2 / curvature; near the border it takes thousands of steps to tell.",
        ),
    ]
}
