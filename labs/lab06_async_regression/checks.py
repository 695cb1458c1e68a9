"""Lab 06's exercises: a gradient, a store, late gradients, hooks, and a worker whose store dies by plan."""

from functools import partial
from types import FunctionType

import numpy as np

from course.checks.exercise import Exercise, Observed, asking, by_name, strategy

from . import cases, oracles
from .driver import drive_log, drive_stop, drive_store, drive_train, tanh_gradient
from .dying_store import DyingStore

_drawn = partial(strategy, f"{__package__}.strategies")


def _against_a_store(answer, case):
    x, y = case.arguments
    store = DyingStore(case.plan, len(x))
    gave = answer(store.connect, tanh_gradient, x, y)
    return Observed(gave, ([[at, *held, *gradient] for at, held, gradient in store.applied], store.version, store.w))


def _stopping(answer, case):
    # a hook that is still to write and one that never stops tell the same: the methods' own code tells them apart
    return None if _does_nothing(answer) else drive_stop(answer, *case.arguments)


def _does_nothing(kind):
    """Return whether no method of the class `kind` does anything."""
    nothing = (lambda: None).__code__.co_code
    methods = [one for one in getattr(kind, "__dict__", {}).values() if isinstance(one, FunctionType)]
    return isinstance(kind, type) and all(method.__code__.co_code == nothing for method in methods)


EXERCISES = by_name(
    Exercise(
        "loss_gradient",
        asking(cases.lines),
        oracles.difference_gradient,
        inputs=_drawn("lines"),
        oracle="half the difference of the losses one to either side, in exact fractions",
        hint="the derivative of a mean of squares is a mean too, of twice the distance times its derivative.",
    ),
    Exercise(
        "store",
        cases.stores,
        judge=lambda case, got: oracles.judge_store(got, *case.arguments),
        entry="Store",
        call=drive_store,
        inputs=_drawn("stores"),
        oracle="the first parameters less the rate times the sum of the gradients applied, after every call",
        hint="the staleness is the store's version less the push's; a store keeps arrays that nobody else holds.",
    ),
    Exercise(
        "train_async",
        cases.trainings,
        oracles.all_versions,
        call=drive_train,
        adds=("gradient",),
        read=lambda got: np.asarray(got, float),
        inputs=_drawn("trainings"),
        oracle="for each turn, the version that its worker made last, looked up; by another loss than yours",
        hint="at turn k the points are those of the turn, the parameters those of the worker's last pull.",
    ),
    Exercise(
        "step_log",
        cases.logs,
        oracles.log_records,
        entry="StepLog",
        call=drive_log,
        read=lambda got: [tuple(one) for one in got],
        inputs=_drawn("logs"),
        oracle="for each number, the telling of it that nothing undid; then block by block",
        hint="the block of a step is (step.step - 1) // every, whatever was told before it.",
    ),
    Exercise(
        "stop_at_step",
        asking(cases.stops),
        judge=oracles.judge_stop,
        entry="StopAtStep",
        call=drive_stop,
        in_kernel=_stopping,
        inputs=_drawn("stops"),
        oracle="the first step told that is as large as the number asked for",
        hint="begin knows the step to count from; numbers have gaps, so the last step itself may never be told.",
    ),
    Exercise(
        "train_through",
        cases.lives,
        judge=oracles.judge_training,
        adds=("connect", "gradient"),
        in_kernel=_against_a_store,
        inputs=_drawn("lives"),
        oracle="the record that the store kept: each gradient against the one due at its version",
        hint="after a death connect again and pull: the version says which row is due, and w is what it is due at.",
    ),
)
