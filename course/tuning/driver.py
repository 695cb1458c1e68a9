"""`tune`: many trials of one problem on a cluster's workers; this process chooses, judges and keeps the journal."""

import time
from collections import Counter
from collections.abc import Callable, Container, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from course.training.problems.problem import Problem
from course.training.records import why_unread
from course.tuning.arguments import caught_names, checked_plan
from course.tuning.dispatch import Dispatch, Report
from course.tuning.result import TuningError, TuningResult, shown_parameters
from course.tuning.study import Study, opened_study
from course.tuning.trials_left import Remaining

#: A trial that neither reports nor ends for so long, on a task that lives, hangs: the default of `timeout`.
TRIAL_SILENCE = 600.0
#: For a worker task to come when none is left.
TRIAL_WORKER_COMES = 30.0
#: Between two looks of the driver at trials that say nothing, and at the clock.
TUNING_LOOKS_EVERY = 0.2
#: A look that is so much too late shows that the driver itself stood still, and no trial.
TUNING_STOOD_STILL = 1.0

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

#: A trial whose process died so often is given up: it may be what ends it.
_LIVES = 3


def tune(
    problem: Problem | Callable[..., Problem],
    space: Mapping[str, Any],
    cluster: "Cluster",
    *,
    trials: int = 40,
    steps: int = 300,
    metric: str = "loss",
    direction: str = "minimize",
    search: str = "tpe",
    pruning: bool = True,
    seed: int = 0,
    journal: str | PathLike | None = None,
    progress: bool | Callable[[str], None] = True,
    timeout: float = TRIAL_SILENCE,
    catch: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> TuningResult:
    """Train `problem` with `trials` sets of hyperparameters on the cluster's worker tasks; return a `TuningResult`.

    - `problem`: a `Problem`, or a function that makes one, such as `mnist`, whose arguments may then be searched too. A
      problem goes to each task once. A function is called there for each trial: let it keep its data, as `mnist` does.
    - `space`: name -> `(low, high)`, `(low, high, "log")`, a list of choices, a value that stays the same, or one of
      Optuna's distributions. The names: `learning_rate`, `optimizer` ("sgd", "adagrad", "adam") and what that takes;
      `mode`, `workers`, `max_staleness`, `aggregate` as for `train`; the arguments of a function that makes a problem.
    - `trials`: exactly so many, those in the journal among them; of a grid, as many of them as it has points. `steps`:
      updates of each trial. It is one process, which plays all of its workers in turns, as `train_in_turns` does.
    - `metric`, `direction`: a key of `problem.validate`, or "loss" on a batch of its own where it has none; "minimize"
      or "maximize". A trial reports it ten times; its value is the last one.
    - `search`: "tpe" (Optuna's tree-structured Parzen estimator), "random" or "grid". `pruning`: stop a trial whose
      reports are worse than the median of those before it at the same step, from a fifth of the steps on.
    - `journal`: a file, or a store's address, where every change is kept; the same call goes on from it after any end.
      Without one, an interrupt loses what was found. One driver at a time.
    - `progress`: True shows a line in a terminal or a notebook; a function gets such a line every two seconds.
    - `timeout`: seconds that a trial may say nothing before that is a TimeoutError.
    - `catch`: a class of exceptions, or a tuple of them, as Optuna's. A trial whose code raises one is "failed", its
      `reason` has the place, and the others go on; any other exception, each with `catch=()`, ends the search.

    With one worker task the same seed gives the same trials, bit for bit, also when it goes on from a journal. With
    more, random and grid search try the same hyperparameters, each with the same reports; which are pruned, and what
    TPE tries next, depends on what has ended by then, and so on timing. A trial whose task dies is run again, and
    counts once; one that loses its task three times is "failed". Raises TuningError when a trial's code raises what
    `catch` doesn't name, when a task can't read the problem, or the cluster is gone; ValueError or TypeError for wrong
    arguments, before anything starts. Whatever ends it, an interrupt too, no trial runs on, and those that were begun
    are "open" in the journal.
    """
    began = time.monotonic()
    tasks = [task for task in cluster.tasks if not task.startswith("/job:ps/")] or cluster.tasks
    caught = caught_names(catch)
    plan = checked_plan(problem, space, trials, steps, metric, direction, search, pruning, seed, timeout)
    with opened_study(plan, journal) as study:
        remaining = Remaining(progress, plan.budget, study.ended)
        with Dispatch(cluster, tasks, problem, steps, metric, seed) as dispatch:
            _Driver(study, dispatch, cluster, timeout, remaining, caught).run()
        remaining.end()
        records = study.records()
    return TuningResult(records, plan.space, metric, direction, search, seed, steps, time.monotonic() - began)


class _Driver:
    """One call of `tune`: the reports of the trials that are on their way, and the decisions that follow from them."""

    def __init__(
        self,
        study: Study,
        dispatch: Dispatch,
        cluster: "Cluster",
        timeout: float,
        remaining: Remaining,
        caught: Container[str],
    ):
        self._study, self._dispatch, self._cluster, self._caught = study, dispatch, cluster, caught
        self._timeout, self._remaining = timeout, remaining
        self._parameters: dict[int, dict[str, Any]] = {}
        self._attempt: dict[int, str] = {}  # trial -> which of its attempts is believed
        self._deaths: Counter[int] = Counter()  # trial -> how often its task was lost in this call
        self._pruned: set[int] = set()
        self._heard: dict[int, float] = {}  # trial -> when it last said anything
        self._looked = self._someone = time.monotonic()

    def run(self) -> None:
        """Go on until every trial of the budget has ended."""
        while self._fill():
            message = self._dispatch.next(TUNING_LOOKS_EVERY)
            if isinstance(message, Report):
                self._reported(message)
            elif message is not None:
                self._heard.pop(message.number, None)
                self._ended(message.number, message.task, message.future)
            self._look()

    def _fill(self):
        """Give every free task a trial; return whether there is anything left to wait for."""
        free, has_trials = self._dispatch.free(), True
        for task in free:
            taken = self._study.next()
            if taken is None:
                has_trials = False
                break
            number, self._parameters[number] = taken
            try:
                self._dispatch.send(task, number, self._parameters[number])
            except ValueError:  # it left this moment; `free` won't name it again until it is back
                self._study.put_back(number)
                continue
            except RuntimeError as error:
                raise self._gone(error) from error
            self._heard[number] = time.monotonic()
        return bool(self._dispatch.flying) or has_trials

    def _reported(self, report):
        if report.value is None:
            self._begun(report.number, report.attempt)
        elif self._attempt.get(report.number) == report.attempt and report.number in self._heard:
            self._heard[report.number] = time.monotonic()
            if self._is_pruned_by(report.number, report.step, report.value):
                self._dispatch.stop(report.number)

    def _begun(self, number, attempt):
        if number not in self._dispatch.flying or self._attempt.get(number) == attempt:
            return  # it comes late, from a process that has died since
        if number in self._attempt:
            self._deaths[number] += 1
        self._attempt[number] = attempt
        self._study.begun(number)
        self._heard[number] = time.monotonic()
        if number in self._pruned:  # its process died before it had stopped
            self._dispatch.stop(number)

    def _is_pruned_by(self, number, step, value):
        """Keep a report; return whether this report prunes the trial."""
        if number in self._pruned or not self._study.report(number, step, value):
            return False
        self._pruned.add(number)
        return True

    def _ended(self, number, task, future):
        error = future.exception()
        if error is not None:
            self._lost(number, task, error)
            return
        outcome = future.result()
        if outcome.state == "failed" and not any(name in self._caught for name in outcome.raised):
            raise TuningError(f"trial {number}, {self._shown(number)}, on {task}: {outcome.reason}")
        if self._attempt.get(number) != outcome.attempt:  # the end came before the report of its beginning
            self._study.begun(number)
        for step, value in outcome.reports:  # the last ones may not have come yet; no decision may depend on that
            self._is_pruned_by(number, step, value)
        state = "pruned" if number in self._pruned else outcome.state
        value = outcome.reports[-1][1] if state == "done" else None
        reason = outcome.reason if state in ("diverged", "failed") else ""
        self._study.end(number, state, value, seconds=outcome.seconds, worker=outcome.task, reason=reason)
        self._remaining.ended()

    def _lost(self, number, task, error):
        """A trial's future failed: the cluster is gone, the task can't read the problem, or its process died again."""
        try:
            self._cluster.client  # noqa: B018 - asking for it is the check
        except RuntimeError as gone:
            raise self._gone(gone) from error
        # a process that dies at once may have had no time to say that it began
        self._deaths[number] = max(self._deaths[number] + 1, getattr(error, "deaths", 0))
        if not isinstance(error, (RuntimeError, OSError)):
            raise TuningError(f"{task} can't work on trial {number}: {why_unread(error)}") from error
        self._dispatch.forget(task)
        if self._deaths[number] < _LIVES:
            self._study.put_back(number)
            return
        facts = {"seconds": None, "worker": task, "reason": str(error)}
        self._study.end(number, "pruned" if number in self._pruned else "failed", None, **facts)
        self._remaining.ended()

    def _look(self):
        """See how long everyone has been silent; TimeoutError or TuningError when that is too long."""
        moment = time.monotonic()
        if moment - self._looked > TUNING_LOOKS_EVERY + TUNING_STOOD_STILL:  # this process stood still
            self._heard, self._someone = dict.fromkeys(self._heard, moment), moment
        self._looked = moment
        self._remaining.show(len(self._dispatch.flying))
        silent = min(self._heard, key=lambda number: self._heard[number], default=None)
        if silent is not None and moment - self._heard[silent] > self._timeout:
            raise TimeoutError(
                f"tune(timeout={self._timeout:g}): trial {silent}, {self._shown(silent)}, has said nothing for "
                f"{self._timeout:g} s on {self._dispatch.flying[silent]}. Look at cluster.log of that task, take fewer "
                "steps, or allow more seconds."
            )
        if self._dispatch.flying or self._dispatch.free():
            self._someone = moment
        elif moment - self._someone > TRIAL_WORKER_COMES:
            raise TuningError(
                f"no worker task has been there for {TRIAL_WORKER_COMES:g} s; start one, and call tune again"
            )

    def _shown(self, number):
        return shown_parameters(self._parameters[number])

    def _gone(self, error):
        return TuningError(f"the cluster is gone: {error}. With a journal the same call goes on, on another cluster.")
