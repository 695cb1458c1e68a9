"""What Optuna does apart from any journal: a new study, the sampler of one trial, which hyperparameters matter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import StudyDirection

#: How the next trial is chosen.
SEARCHES = ("tpe", "random", "grid")
#: Importance looks at the best tenth of the trials, and at five of them at least, as Optuna's manual advises.
_BEST, _FEWEST_BEST, _FEWEST = 0.1, 5, 8


def new_study(direction: str, **settings: Any) -> optuna.Study:
    """Return a new study of Optuna's, in memory unless `settings` name a storage; it isn't announced on the screen."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction=StudyDirection[direction.upper()], **settings)
    finally:
        optuna.logging.set_verbosity(verbosity)


def sampler_of(search: str, seed: int, number: int, point: dict[str, Any]) -> BaseSampler:
    """Return the sampler that draws trial `number`, and no other; of a grid it gives the values of `point`."""
    if search == "grid":
        return PointSampler(point)
    drawn = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    return TPESampler(seed=drawn) if search == "tpe" else RandomSampler(seed=drawn)


class PointSampler(BaseSampler):
    """Gives the values of one point, by their names."""

    def __init__(self, point: dict[str, Any]):
        self._point = point

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        """Return nothing: no value depends on another one."""
        return {}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        """Return the point's value."""
        return self._point[param_name]


def importances(
    searched: Mapping[str, BaseDistribution], direction: str, done: Sequence[tuple[dict[str, Any], float]]
) -> dict[str, float]:
    """Return name -> share for what is `searched`, from (hyperparameters, value) of each trial that is `done`.

    See `TuningResult.importances`. Raises ValueError for fewer than eight.
    """
    if len(done) < _FEWEST:
        raise ValueError(
            f"importances(): {len(done)} trials are done; give tune() so many that {_FEWEST} are, or pruning=False."
        )
    study = new_study(direction)
    for parameters, value in done:
        values = {name: parameters[name] for name in searched}
        study.add_trial(optuna.create_trial(params=values, distributions=dict(searched), value=value))
    evaluator = PedAnovaImportanceEvaluator(target_quantile=max(_BEST, _FEWEST_BEST / len(done)))
    shares = get_param_importances(study, evaluator=evaluator)
    return dict(sorted(shares.items(), key=lambda one: -one[1]))
