"""Lab 07's exercises: a product split over tasks, replicas of a network, a store that waits, a descent that is late."""

from functools import partial

import numpy as np

from course.checks.exercise import Exercise, Observed, asking, by_name, strategy

from . import cases, oracles
from .driver import drive_descent, drive_sync
from .tasks import Tasks

_drawn = partial(strategy, f"{__package__}.strategies")


def _with_tasks(answer, case):
    a, b, count = case.arguments
    tasks = Tasks(count)
    return Observed(answer(a, b, tasks.functions()), tasks.asked)


def _two_arrays(got):
    return np.array([row.tolist() for row in got[0]], float), np.array(got[1].tolist(), float)


# Neither the product nor the rate looks for smaller inputs: a task that is alone waits for seconds each time, a rate
# takes a while, and the fixed cases of both begin with the smallest there are.
EXERCISES = by_name(
    Exercise(
        "product_by_tasks",
        cases.split,
        judge=oracles.judge_split,
        in_kernel=_with_tasks,
        oracle="the whole product of whole numbers, and the tasks' own record of what they were asked",
        hint="np.array_split cuts the rows; a thread for each task lets all be asked before one has answered.",
    ),
    Exercise(
        "replica_gradients",
        cases.networks,
        judge=oracles.judge_gradients,
        tensors=True,
        read=_two_arrays,
        wants="two tensors, the replicas' gradients and their mean",
        inputs=_drawn("networks"),
        oracle="the chain rule by hand, row by row, without replicas",
        hint="the loss of a share is a mean over its rows, so it counts as often as it has rows.",
    ),
    Exercise(
        "sync_store",
        cases.synchronous,
        judge=lambda case, got: oracles.judge_sync(got, *case.arguments),
        entry="SyncStore",
        call=drive_sync,
        inputs=_drawn("pushes"),
        oracle="after each push, all pushes before it looked through, and every update made again from the first one",
        hint="what waits is of one version and one push a worker; keep copies; add up in the order of the numbers.",
    ),
    Exercise(
        "delayed_descent",
        asking(cases.descents),
        judge=lambda case, got: oracles.judge_descent(got, *case.arguments),
        call=drive_descent,
        adds=("gradient",),
        inputs=_drawn("descents"),
        oracle="each version follows from the two before it that it must follow from, on another curve than a parabola",
        hint="version 1 is made from version 0's gradient, and so are the next ones, as many as the delay.",
    ),
    Exercise(
        "stable_rate",
        asking(cases.parabolas),
        judge=lambda case, got: oracles.judge_rate(got, *case.arguments),
        oracle="the roots of z^(delay + 1) - z^delay + rate * curvature, 1 % to either side of your rate",
        hint="without delay it is 2 / curvature; near the border it takes thousands of steps to tell.",
    ),
)
