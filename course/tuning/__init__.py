"""Tuning: many short trainings, each with other hyperparameters, on the workers of a cluster; which is the best?

In this order of reading; a file imports only files above it in this list.

- `space`: which values each hyperparameter may have: ranges, choices, fixed ones; and the points of a grid over them.
- `trial_values`: which values a trial gets, by Optuna: a new study, the sampler of one trial, importances.
- `trial`: what a worker does for one trial: it trains, reports on its way, and stops when the driver asks for it.
- `result`: the outcome of each trial, and of all of them: `Trial`, `TuningResult`, its table.
- `pictures`: searches side by side, parallel coordinates, which hyperparameter matters.
- `seal`: the check sum in each line of a journal. `fingerprint`: of a problem's data and code, in a journal too.
- `journal`: the file in which a study is kept: locked for one driver, read with care, appended to wholly or not at all.
- `study`: all trials of one search, with Optuna's samplers and pruner, so that it can go on from its journal.
- `dispatch`: which worker has which trial; its reports; how it is stopped.
- `arguments`: which of `tune`'s are legal. `trials_left`: the line of progress. `driver`: `tune`, and its loop.

What runs where: `Problem.batch`, `loss` and `validate` in the worker tasks; Optuna, the journal and every decision in
the process that calls `tune`. Optuna is the extra `tuning`; a worker needs none of it.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from course.signals import held_back

_HOME = {
    "tune": "driver",
    "Trial": "result",
    "TuningResult": "result",
    "TuningError": "result",
    "searches": "pictures",
    "coordinates": "pictures",
    "importance": "pictures",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'course.tuning' has no {name!r}; its names are {', '.join(_HOME)}")
    if find_spec("optuna") is None:  # asked here, since a worker imports this room without it
        raise ImportError(f"course.tuning.{name} needs Optuna, which is missing here: pip install 'course[tuning]'.")
    with held_back():  # an interrupt finds every import done, or none
        return getattr(import_module(f"course.tuning.{_HOME[name]}"), name)
