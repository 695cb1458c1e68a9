"""Lab 06's exercises in the notebook: stores and hooks are driven, and a worker's store dies by plan.

Plain numpy; the oracles stand in `lab06_oracles`.
"""

from contextlib import contextmanager
from functools import partial
from types import FunctionType

import numpy as np

from course.checks.exercise import Exercise, same, show, strategy

from . import oracles
from .driver import drive_log, drive_stop, drive_store, drive_train, tanh_gradient
from .dying_store import DyingStore, Plan


def _driven(drive):
    @contextmanager
    def watch():
        yield lambda answer, arguments: (drive(answer, *arguments),)

    return watch


@contextmanager
def _against_a_store():
    def run(answer, arguments):
        plan, x, y = arguments
        store = DyingStore(plan, len(x))
        return answer(store.connect, tanh_gradient, x, y), store

    yield run


@contextmanager
def _stopping():
    # a hook that is still to write and one that never stops tell the same: the methods' own code tells them apart
    yield lambda answer, arguments: (None if _does_nothing(answer) else drive_stop(answer, *arguments),)


def _does_nothing(kind):
    """Return whether no method of the class `kind` does anything."""
    nothing = (lambda: None).__code__.co_code
    methods = [one for one in getattr(kind, "__dict__", {}).values() if isinstance(one, FunctionType)]
    return isinstance(kind, type) and all(method.__code__.co_code == nothing for method in methods)


def _record_accepted(got, store, plan, x, y):
    return oracles.judge_record(got, store.applied, store.version, store.w, x, y) or True


def _as(kind, oracle):
    """Return what accepts an answer that, made of that `kind`, is the oracle's."""

    def accepts(got, *arguments):
        wanted = oracle(*arguments)
        try:
            return same(kind(got), wanted) or f"expected {show(wanted)}"
        except (TypeError, ValueError):  # not of that kind at all
            return f"expected {show(wanted)}"

    return accepts


_drawn = partial(strategy, f"{__package__}.strategies")


def _draw():
    return np.random.default_rng(6)


def _stores():
    for group in oracles.fixed_stores().values():
        yield from group
    for max_staleness in (None, 2):
        yield np.array([0.5, -1.0]), 0.1, max_staleness, oracles.store_calls(_draw(), 12, max_staleness), ""


EXERCISES = {
    exercise.name: exercise
    for exercise in [
        Exercise(
            "loss_gradient",
            lambda: [one for part in oracles.lines(_draw()) for one in part],
            oracles.difference_gradient,
            hint="the derivative of a mean of squares is a mean too, of twice the distance times its derivative.",
            inputs=_drawn("lines"),
        ),
        Exercise(
            "store",
            _stores,
            accepts=lambda got, *arguments: oracles.judge_store(got, *arguments) or True,
            hint="the staleness is the store's version less the push's; a store keeps arrays that nobody else holds.",
            inputs=_drawn("stores"),
            watch=_driven(drive_store),
        ),
        Exercise(
            "train_async",
            lambda: oracles.trainings(_draw()),
            accepts=_as(lambda got: np.asarray(got, float), oracles.all_versions),
            hint="at turn k the points are those of the turn, the parameters those of the worker's last pull.",
            inputs=_drawn("trainings"),
            watch=_driven(drive_train),
        ),
        Exercise(
            "step_log",
            lambda: [one for group in oracles.logs(_draw()).values() for one in group],
            accepts=_as(lambda got: [tuple(one) for one in got], oracles.log_records),
            hint="the block of a step is (step.step - 1) // every, whatever was told before it.",
            inputs=_drawn("logs"),
            watch=_driven(drive_log),
        ),
        Exercise(
            "stop_at_step",
            lambda: [one for part in oracles.stops(_draw()) for one in part],
            accepts=lambda got, *arguments: _stopped_right(got, oracles.stop_step(*arguments)),
            hint="begin knows the step to count from; numbers have gaps, so the last step itself may never be told.",
            inputs=_drawn("stops"),
            watch=_stopping,
        ),
        Exercise(
            "train_through",
            lambda: [(Plan(*rest), x, y) for x, y, *rest in oracles.lives(_draw())],
            accepts=_record_accepted,
            hint="after a death connect again and pull: the version says which row is due, and w is what it is due at.",
            inputs=_drawn("lives"),
            watch=_against_a_store,
        ),
    ]
}


def _stopped_right(got, wanted):
    if tuple(got) == wanted:
        return True
    refused, step = wanted
    if refused:
        return "expected a ValueError: exactly one of the two numbers is to be given"
    words = {None: "never"}.get(step, f"first at step {step}")
    given = "it raised ValueError" if got[0] else {None: "it never did"}.get(got[1], f"it did at step {got[1]}")
    return f"expected it to ask for a stop {words}; {given}"
