"""The outcome of each trial of a search, and of all of them together."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from course.tuning.space import Space
from course.tuning.trial_values import importances

#: The states of a trial, each in words.
STATES = {
    "done": "trained to its last step",
    "pruned": "stopped early, being worse than most at the same step",
    "diverged": "a number was not finite any more",
    "failed": "its code raised an exception, or its worker died each time",
    "open": "begun and not ended: the next call goes on with it",
}
_SHOWN = 10  # rows of the table
_SIGNS = {"done": "●", "pruned": "◐", "diverged": "✕", "failed": "✕", "open": "…"}


class TuningError(RuntimeError):
    """Tuning can't go on: the message says what happened, and to which trial or task."""


@dataclass(frozen=True)
class Trial:
    """One set of hyperparameters and what became of it.

    `parameters`: name to value, the fixed ones too. `state`: one of `STATES`. `value`: of the metric, at the last step
    of a trial that is done; None for any other. `reports`: (step, value) each, in order. `seconds`: of its training,
    None while open; `worker`: the task that it ended on, or "". `attempts`: how often it was begun: more than once
    where its worker, or the driver, died. `reason`: why it is not done, in words.
    """

    number: int
    parameters: dict[str, Any]
    state: str
    value: float | None = None
    reports: tuple[tuple[int, float], ...] = ()
    seconds: float | None = None
    worker: str = ""
    attempts: int = 0
    reason: str = ""

    def __repr__(self):
        value = "" if self.value is None else f" {self.value:.4g}"
        return f"Trial({self.number}: {self.state}{value} with {shown_parameters(self.parameters)})"


@dataclass(frozen=True, repr=False)
class TuningResult:
    """The outcome of `tune`: `trials`, a tuple of `Trial` in the order in which they were begun.

    `metric`, `direction`, `search`, `seed`, `steps`: as given to `tune`; `space`: a `Space`. `seconds`: of this call.
    """

    trials: tuple[Trial, ...]
    space: Space = field(repr=False)
    metric: str = "loss"
    direction: str = "minimize"
    search: str = "tpe"
    seed: int = 0
    steps: int = 0
    seconds: float = 0.0

    @property
    def best(self) -> Trial:
        """The best `Trial` that is done, the earlier of two alike; TuningError where none is."""
        ranked = self.ranked()
        if not ranked:
            reasons = [f"Trial {trial.number}: {trial.reason}." for trial in self.trials if trial.reason]
            raise TuningError(
                f"none of {len(self.trials)} trials is done: {self._counts()}. {''.join(reasons[:1])} A smaller "
                "learning rate, or more trials, may help."
            )
        return ranked[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """The best trial's hyperparameters, name to value; TuningError where no trial is done."""
        return self.best.parameters

    @property
    def value(self) -> float:
        """The best trial's value; TuningError where no trial is done."""
        value = self.best.value
        assert value is not None
        return value

    def ranked(self) -> list[Trial]:
        """Return the trials that are done, the best one first."""
        sign = -1 if self.direction == "maximize" else 1
        done = [trial for trial in self.trials if trial.state == "done" and trial.value is not None]
        return sorted(done, key=lambda trial: (sign * (trial.value or 0.0), trial.number))

    def best_so_far(self) -> list[float | None]:
        """Return the best value after each trial, in the order in which they were begun; None before the first."""
        better, best, values = (max if self.direction == "maximize" else min), None, []
        for trial in self.trials:
            if trial.state == "done" and trial.value is not None:
                best = trial.value if best is None else better(best, trial.value)
            values.append(best)
        return values

    def importances(self) -> dict[str, float]:
        """Return how much each searched hyperparameter matters, name to share, the largest first; together they are 1.

        By PED-ANOVA (Watanabe, Bansal, Hutter 2023, arXiv:2304.10255), as Optuna has it, which needs no scikit-learn:
        how far the values of the best tenth of the trials that are done (five at least) differ from those of all.
        ValueError for fewer than eight such trials; of forty, the shares are rough.
        """
        done = [(trial.parameters, trial.value) for trial in self.ranked() if trial.value is not None]
        return importances(self.space.searched, self.direction, done)

    def _counts(self):
        counts = Counter(trial.state for trial in self.trials)
        return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])

    def __repr__(self):
        best = "none done"
        if self.ranked():
            best = f"best {self.metric} {self.value:.4g} with {shown_parameters(self.parameters)}"
        return f"TuningResult({best}; {len(self.trials)} trials by {self.search}: {self._counts()})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        from course.draw import table

        ranked = self.ranked()
        rest = [trial for trial in self.trials if trial.state != "done"]
        rows = [self._row(trial) for trial in [*ranked, *rest][:_SHOWN]]
        more = f"; the first {_SHOWN} of {len(self.trials)}, the best on top" if len(self.trials) > _SHOWN else ""
        head = ["trial", *self.space.names, self.metric, "state", "seconds", "worker"]
        caption = f"{len(self.trials)} trials by {self.search}: {self._counts()}{more}"
        return {"text/plain": repr(self), "text/html": table(head, rows, alt=repr(self), caption=caption).html}

    def _row(self, trial):
        values = [_short(trial.parameters.get(name, "")) for name in self.space.names]
        value = "" if trial.value is None else float(f"{trial.value:.4g}")
        seconds = "" if trial.seconds is None else round(trial.seconds, 2)
        state = f"{_SIGNS[trial.state]} {trial.state}"
        return [trial.number, *values, value, state, seconds, trial.worker]


def shown_parameters(parameters: dict[str, Any]) -> str:
    """Return hyperparameters in a line, such as `learning_rate=0.83, optimizer='sgd'`."""
    return ", ".join(f"{name}={_short(value)!r}" for name, value in parameters.items())


def _short(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value
