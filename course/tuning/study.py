"""All trials of one search: Optuna draws them and judges reports; a journal keeps them, to go on from.

A grid's points are enqueued, each as its trial begins: 0.07 ms for one of 500. Optuna's `GridSampler` takes 0.15 ms, in
an order of its own, and in a study used by `ask` and `tell` it raises RuntimeError at the last point (Optuna 5.0.0).
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import optuna
from optuna.pruners import MedianPruner
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial, TrialState

from course.tuning.journal import STUDY, locked_journal
from course.tuning.result import Trial, TuningError
from course.tuning.space import Space, grid
from course.tuning.trial_values import new_study, sampler_of, suggest

#: So many trials are done before any is pruned: a median of fewer says little. Optuna's own default.
_UNPRUNED = 5
_FINGERPRINT = "the fingerprint of data and code"  # as a journal has it
_STATES = {"done": None, "pruned": TrialState.PRUNED, "diverged": TrialState.PRUNED, "failed": TrialState.FAIL}


@dataclass(frozen=True)
class Plan:
    """The arguments of `tune` by their names, `problem` in words. A journal goes on only with the plan that it has.

    `fingerprint`: of the problem's data and code.
    """

    problem: str
    space: Space
    trials: int
    steps: int
    metric: str
    direction: str
    search: str
    pruning: bool
    seed: int
    fingerprint: str = ""

    @cached_property
    def points(self) -> list[dict[str, Any]]:
        """The points of the grid, none where another search is asked for."""
        return grid(self.space, self.trials) if self.search == "grid" else []

    @property
    def budget(self) -> int:
        """How many trials there will be: those asked for, or fewer where the grid has fewer points."""
        return len(self.points) or self.trials

    def stored(self) -> dict[str, Any]:
        """Return what a journal keeps to recognise the study, as JSON has it."""
        words = re.sub(r" at 0x[0-9a-fA-F]+", "", self.problem)  # an address is another one in each process
        plan = {"problem": words, "space": self.space.stored(), "steps": self.steps, "metric": self.metric}
        plan |= {"direction": self.direction, "search": self.search, "pruning": self.pruning, "seed": self.seed}
        plan |= {_FINGERPRINT: self.fingerprint}
        if self.search == "grid":
            plan["trials"] = self.trials  # it decides where the points are
        return json.loads(json.dumps(plan))


@contextmanager
def opened_study(plan: Plan, journal: str | PathLike | None) -> Iterator["Study"]:
    """Within the `with`, there is the `Study` of `plan`, kept in the file `journal`, or nowhere where that is None.

    Raises ValueError for a journal of another study, naming what differs, and as `locked_journal`.
    """
    with nullcontext() if journal is None else locked_journal(journal, plan.space) as backend:
        try:
            loaded = _loaded(plan, None if backend is None else JournalStorage(backend))
            study = Study(plan, loaded)
        except (TuningError, OSError):
            raise
        except Exception as error:  # Optuna raises any, where a line changes what isn't there, or to what can't be
            raise ValueError(
                f"tune(journal={str(journal)!r}): the file is damaged: {type(error).__name__}: {error}. It stays as it "
                "is; name another file."
            ) from error
        _compare(plan, loaded, journal)
        yield study


def _loaded(plan, storage):
    """Return Optuna's study, made where there is none yet."""
    pruner = MedianPruner(_UNPRUNED, n_warmup_steps=plan.steps // 5)
    if storage is not None and STUDY in [study.study_name for study in storage.get_all_studies()]:
        return optuna.load_study(storage=storage, study_name=STUDY, pruner=pruner)
    return new_study(plan.direction, storage=storage, study_name=STUDY, pruner=pruner)


def _compare(plan, study, journal):
    """Write what the study is into a new journal; ValueError that names what differs from an old one's."""
    mine, stored = plan.stored(), study.user_attrs.get("settings")
    if stored is None and not study.get_trials(deepcopy=False):
        study.set_user_attr("settings", mine)
        return
    stored = {_FINGERPRINT: plan.fingerprint, **(stored if isinstance(stored, dict) else {})}  # older ones have none
    differs = [name for name in [*mine, *stored.keys() - mine.keys()] if mine.get(name) != stored.get(name)]
    if differs:
        name, others = differs[0], ", ".join(differs[1:])
        more = f" ({others} differ too)" if others else ""
        raise ValueError(
            f"tune(journal={str(journal)!r}): it is of another search: {name} is {mine.get(name)!r} now, and was "
            f"{stored.get(name)!r} in the journal{more}. Give the same arguments, data and code to go on with "
            "it, or name another file."
        )


class Study:
    """The trials of `plan` in `study`, Optuna's: which is next, what was reported, how each ended."""

    def __init__(self, plan: Plan, study: optuna.Study):
        self.plan, self._study = plan, study
        running = self._frozen(TrialState.RUNNING)  # a driver left them; each has all of its hyperparameters
        self._again = deque(trial.number for trial in running)
        self._trials = {trial.number: optuna.trial.Trial(study, trial._trial_id) for trial in running}
        for trial in self._frozen():
            self._record(trial)  # one that can't be read is found now, and not at the end

    def _frozen(self, *states: TrialState) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False, states=states or None)

    @property
    def ended(self) -> int:
        """How many trials have ended."""
        return len(self._frozen(*(state for state in TrialState if state.is_finished())))

    def next(self) -> tuple[int, dict[str, Any]] | None:
        """Return number and hyperparameters of the trial to begin now; None when the budget is in use or spent.

        One that was begun before and has not ended comes first.
        """
        if self._again:
            number = self._again.popleft()
        elif (number := len(self._frozen())) >= self.plan.budget:
            return None
        else:
            self._study.sampler = sampler_of(self.plan.search, self.plan.seed, number)
            if self.plan.points:
                self._study.enqueue_trial(self.plan.points[number])
            trial = self._trials[number] = self._study.ask(self.plan.space.parts(None)[0])
            for name, distribution in self.plan.space.parts(trial.params.get("optimizer"))[0].items():
                if name not in trial.params:
                    suggest(trial, name, distribution)
        trial = self._trials[number]
        assert trial.number == number
        return number, {**trial.params, **self.plan.space.parts(trial.params.get("optimizer"))[1]}

    def put_back(self, number: int) -> None:
        """Have this trial begun again, as the next one."""
        self._again.appendleft(number)

    def begun(self, number: int) -> int:
        """Count another attempt at this trial; return how many there were."""
        trial = self._trials[number]
        attempts = trial.user_attrs.get("attempts", 0) + 1
        trial.set_user_attr("attempts", attempts)
        return attempts

    def report(self, number: int, step: int, value: float) -> bool:
        """Keep what the trial reported, unless it did before; return whether to prune it."""
        trial = self._trials[number]
        if step in self._frozen()[number].intermediate_values:
            return False  # in an attempt before
        trial.report(value, step)
        return self.plan.pruning and step < self.plan.steps and trial.should_prune()

    def end(self, number: int, state: str, value: float | None, **facts: Any) -> None:
        """Keep how the trial ended: `state`, its `value` where it is done, and `facts`: seconds, worker, reason."""
        trial = self._trials[number]
        for name, fact in {"state": state, **facts}.items():
            trial.set_user_attr(name, fact)
        self._study.tell(trial, value if state == "done" else None, state=_STATES[state])

    def records(self) -> tuple[Trial, ...]:
        """Return every trial as a `Trial`, in order."""
        return tuple(map(self._record, self._frozen()))

    def _record(self, trial):
        facts = trial.user_attrs
        names = {name: trial.params[name] for name in self.plan.space.searched if name in trial.params}
        return Trial(
            trial.number,
            {**names, **self.plan.space.parts(trial.params.get("optimizer"))[1]},
            str(facts["state"]) if trial.state.is_finished() else "open",
            trial.value if trial.state == TrialState.COMPLETE else None,
            tuple(sorted(trial.intermediate_values.items())),
            facts.get("seconds"),
            facts.get("worker", ""),
            facts.get("attempts", 0),
            facts.get("reason", ""),
        )
