"""Which values a trial gets, by Optuna: a new study, the sampler of each trial; and which hyperparameters matter.

The seed, n, and the trials that have ended fix the values of trial n: each trial has a sampler of its own. So a study
that goes on from its journal draws as if nothing had happened, and no generator has to be kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
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


def sampler_of(search: str, seed: int, number: int) -> BaseSampler:
    """Return the sampler that draws trial `number`, and no other."""
    drawn = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    return TPESampler(seed=drawn) if search == "tpe" else RandomSampler(seed=drawn)


def suggest(trial: optuna.Trial, name: str, distribution: Any) -> None:
    """Have Optuna draw another hyperparameter of a trial that has begun."""
    if isinstance(distribution, CategoricalDistribution):
        trial.suggest_categorical(name, distribution.choices)
        return
    draw: Any = trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    draw(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)


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
        values = {name: parameters[name] for name in searched if name in parameters}
        own = {name: searched[name] for name in values}
        study.add_trial(optuna.create_trial(params=values, distributions=own, value=value))
    # here, for it takes longer to import, with scikit-learn, than all else of Optuna
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    evaluator = PedAnovaImportanceEvaluator(target_quantile=max(_BEST, _FEWEST_BEST / len(done)))
    shares = get_param_importances(study, evaluator=evaluator)
    return dict(sorted(shares.items(), key=lambda share: -share[1]))
