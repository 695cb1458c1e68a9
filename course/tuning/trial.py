"""What a worker does for one trial: a training with the trial's hyperparameters, which reports the metric on its way.

The training is `train_in_turns`: this one process plays all the workers that the trial has, so that a trial with three
asynchronous workers needs one task of the cluster, and gives the same bits each time.
"""

import inspect
import math
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import get_worker

from course.training.driver.in_process import train_in_turns
from course.training.hooks.base import Hook, Session
from course.training.problems.named import OPTIMIZERS
from course.training.problems.problem import Problem, batch_generator, missing_methods, shown
from course.training.records import NonFiniteError, Step, in_words

#: How often a trial reports how good it is; the last report is its value.
REPORTS = 10
#: What a trial's training takes besides the optimiser: arguments of `train`.
TRAINING = ("mode", "workers", "max_staleness", "aggregate")
_HELD_OUT_SEED = 0x7E57  # of the batch that a problem without `validate` is measured on: no worker's


@dataclass(frozen=True)
class Job:
    """One trial as plain values: its number and hyperparameters; the rest is the same for all trials of a `study`."""

    study: str
    number: int
    parameters: dict[str, Any]
    steps: int
    metric: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """How a trial ended on its worker; `attempt`: which of its attempts this was, an id.

    `state`: "done", "diverged" (NaN or infinity), "stopped" (by the driver), or "failed": its code raised. `reports`:
    (step, value) each, in order. `seconds`: of the training. `task`: its name. `reason`: in words, "" for a good end.
    `raised`: the classes of the exception that its code raised, as `class_name` has them.
    """

    state: str
    reports: tuple[tuple[int, float], ...]
    seconds: float
    task: str
    attempt: str
    reason: str = ""
    raised: tuple[str, ...] = ()


def class_name(own: type) -> str:
    """Return the full name of a class: an exception's own class may be missing where it is asked for."""
    return f"{own.__module__}.{own.__qualname__}"


class NoSuchMetric(ValueError):
    """The problem doesn't measure what the search is for: no trial will do better."""


class Stopped(Exception):
    """The driver has stopped the trial."""


def run_trial(source: Any, job: Job) -> Outcome:
    """Run on a worker: train the problem, or what the function `source` makes, as `job` says; return an `Outcome`.

    Each start and each report is sent at once, under the topic `job.study`, as a list: the trial's number, the id of
    this attempt, and for a report the step and the value. An exception of the problem's code is an outcome too.
    """
    worker, reports = get_worker(), []
    attempt = uuid.uuid4().hex
    began = time.perf_counter()

    def report(step, value):
        reports.append((step, value))
        worker.log_event(job.study, [job.number, attempt, step, value])

    def is_stopped():
        return not {(job.study, job.number), (job.study, None)}.isdisjoint(_stopped(worker))

    worker.log_event(job.study, [job.number, attempt])
    state, reason = "done", ""
    raised: tuple[str, ...] = ()
    try:
        _train(source, job, report, is_stopped)
    except Stopped:
        state = "stopped"
    except NonFiniteError as error:
        state, reason = "diverged", f"{error.tensor} was not finite at version {error.version}"
    except Exception as error:  # the reader's code may raise anything
        at = traceback.extract_tb(error.__traceback__)[-1]
        state, reason = "failed", f"{in_words(error)} ({at.filename}, line {at.lineno})"
        raised = () if isinstance(error, NoSuchMetric) else tuple(map(class_name, type(error).__mro__))
    return Outcome(state, tuple(reports), time.perf_counter() - began, worker.name, attempt, reason, raised)


def stop_trials(study: str, number: int | None, dask_worker: Any = None) -> None:
    """Run on a worker: the trial `number` of the study, each one for None, ends at its next step, or as it begins."""
    _stopped(dask_worker).add((study, number))


def forget_study(study: str, dask_worker: Any = None) -> None:
    """Run on a worker: forget which trials of the study were stopped."""
    _stopped(dask_worker).difference_update([trial for trial in _stopped(dask_worker) if trial[0] == study])


def _stopped(worker: Any) -> set[tuple[str, int | None]]:
    return worker.__dict__.setdefault("stopped_trials", set())


def _train(source, job, report, is_stopped):
    problem, optimizer, training = taken_apart(source, job.parameters)
    if is_stopped():
        raise Stopped
    hooks = [_Reporter(job, partial(measured, problem, job.metric), report, is_stopped)]
    train_in_turns(problem, optimizer=optimizer, total_steps=job.steps, seed=job.seed, hooks=hooks, **training)


def taken_apart(source: Any, parameters: Mapping[str, Any]) -> tuple[Problem, Callable, dict[str, Any]]:
    """Return the problem, what makes the optimiser, and the training's arguments: all by these `parameters`."""
    parameters = dict(parameters)
    training = {name: parameters.pop(name) for name in TRAINING if name in parameters}
    own = {name: parameters.pop(name) for name in made_with(source) if name in parameters}
    optimizer = OPTIMIZERS[parameters.pop("optimizer", "sgd")]
    if "learning_rate" in parameters:
        parameters["lr"] = parameters.pop("learning_rate")
    return source(**own) if is_maker(source) else source, partial(optimizer, **parameters), training


def is_maker(source: Any) -> bool:
    """Return whether `source` makes problems, and is none."""
    return isinstance(source, type) or bool(missing_methods(source))


def made_with(source: Any) -> list[str]:
    """Return the names of the arguments of `source`, which makes problems; none of a problem itself."""
    return list(inspect.signature(source).parameters) if is_maker(source) else []


def measured(problem: Any, metric: str, parameters: dict[str, Any]) -> float:
    """Return the number called `metric` of `problem.validate`; "loss" of one without is that on a batch of its own."""
    if callable(getattr(problem, "validate", None)):
        measures = problem.validate(parameters)
        if metric not in measures:
            raise NoSuchMetric(
                f"tune(metric={metric!r}): {shown(problem)} validates {', '.join(measures)}; take one of these."
            )
        return float(measures[metric])
    if metric != "loss":
        raise NoSuchMetric(f"tune(metric={metric!r}): {shown(problem)} has no validate(parameters), so take 'loss'.")
    import torch

    with torch.no_grad():
        batch = problem.batch(0, 0, batch_generator(_HELD_OUT_SEED, 0, 0))
        return float(problem.loss(parameters, batch))


class _Reporter(Hook):
    """Measures ten times on the way, the last time at the end, and stops the training when the driver asks for it."""

    shows_progress = True  # of the whole search, where it is shown

    def __init__(self, job, measure, report, is_stopped):
        self._every, self._last = math.ceil(job.steps / REPORTS), job.steps
        self._measure, self._report, self._is_stopped = measure, report, is_stopped
        self._measured_step = 0

    def after_run(self, session: Session, step: Step) -> None:
        if self._is_stopped():
            raise Stopped
        if step.step == self._measured_step or (step.step % self._every and step.step != self._last):
            return  # each gradient of a synchronous update is a call
        self._measured_step = step.step
        value = self._measure(session.parameters())
        if not math.isfinite(value):
            raise NonFiniteError("what was measured", step.step)
        self._report(step.step, value)
