"""Which arguments of `tune` are legal: they are checked before anything starts."""

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from course.training.problems.named import OPTIMIZERS
from course.training.problems.problem import missing_methods, shown
from course.tuning.fingerprint import fingerprint
from course.tuning.space import Space, grid, make_space
from course.tuning.study import Plan
from course.tuning.trial import TRAINING, class_name, is_maker, made_with
from course.tuning.trial_values import SEARCHES


def checked_plan(
    problem: Any,
    space_arguments: Mapping[str, Any],
    trials: int,
    steps: int,
    metric: str,
    direction: str,
    search: str,
    pruning: bool,
    seed: int,
    timeout: float,
) -> Plan:
    """Return the `Plan` of these arguments of `tune`; TypeError or ValueError says which is wrong; see `tune`."""
    if is_maker(problem) and not callable(problem):
        lacks = ", ".join(missing_methods(problem))
        raise TypeError(
            f"tune(problem={shown(problem)}): it has no {lacks}. Give a course.training.Problem, such as mnist(), or a "
            "function that returns one, such as mnist."
        )
    for name, value, least in (("trials", trials, 1), ("steps", steps, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"tune({name}={value!r}): give a whole number from {least} up.")
    for name, word, legal in (("direction", direction, ("minimize", "maximize")), ("search", search, SEARCHES)):
        if word not in legal:
            raise ValueError(f"tune({name}={word!r}): give one of {', '.join(map(repr, legal))}.")
    if not isinstance(metric, str) or not metric:
        raise ValueError(f"tune(metric={metric!r}): give a key of what problem.validate returns, such as 'loss'.")
    if not (isinstance(timeout, (int, float)) and timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"tune(timeout={timeout!r}): give a number of seconds above 0.")
    space = make_space(space_arguments)
    _check_names(space, problem)
    space = replace(space, only_for=_only_for(space))
    if search == "grid":
        grid(space, trials)  # raises where it has too many points
    words = getattr(problem, "__qualname__", shown(problem)) if is_maker(problem) else shown(problem)
    return Plan(words, space, trials, steps, metric, direction, search, bool(pruning), seed, fingerprint(problem))


def caught_names(catch: Any) -> tuple[str, ...]:
    """Return the full names of the classes of exceptions in `tune`'s `catch`; TypeError where it has anything else."""
    classes = catch if isinstance(catch, tuple) else (catch,)
    if wrong := [own for own in classes if not (isinstance(own, type) and issubclass(own, Exception))]:
        raise TypeError(
            f"tune(catch={catch!r}): {wrong[0]!r} is no class of exceptions. Give one, or a tuple of them, such as "
            "(ValueError, MemoryError); () for none."
        )
    return tuple(map(class_name, classes))


def _check_names(space: Space, problem: Any) -> None:
    legal = ["learning_rate", "optimizer", *TRAINING, *made_with(problem)]
    legal += [name for name in _taken_by(OPTIMIZERS.values()) if name not in legal]
    for name in space.names:
        if name not in legal:
            hint = (
                "" if is_maker(problem) else " The arguments of a function that makes the problem may be searched too."
            )
            raise ValueError(f"tune(space): there is no {name!r} to search. Legal names: {', '.join(legal)}.{hint}")


def _only_for(space):
    """Return name -> the optimizers of the space that take it, where not all do; ValueError where none does."""
    wanted = set(space.names) & _taken_by(OPTIMIZERS.values())
    optimizers = space.values("optimizer") if "optimizer" in space.names else ["sgd"]
    for name in optimizers:
        if name not in OPTIMIZERS:
            raise ValueError(f"tune(space): optimizer may be {name!r}; there are {', '.join(map(repr, OPTIMIZERS))}.")
    takers = {name: tuple(own for own in optimizers if name in _taken_by([OPTIMIZERS[own]])) for name in wanted}
    if lacks := sorted(name for name in wanted if not takers[name]):
        raise ValueError(
            f"tune(space): {lacks[0]} is in it, and {' or '.join(map(repr, optimizers))} takes no {lacks[0]}. "
            "Leave it out, or give optimizer one that does."
        )
    for value in space.values("learning_rate") if "learning_rate" in space.names else []:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise ValueError(f"tune(space): learning_rate may be {value!r}; a learning rate is a number above 0.")
    return {name: own for name, own in takers.items() if len(own) < len(optimizers)}


def _taken_by(optimizers: Iterable[Any]) -> set[str]:
    """Return the arguments that some of these optimisers have besides the tensors and the learning rate."""
    names = set()
    for optimizer in optimizers:
        names |= set(inspect.signature(optimizer).parameters) - {"params", "lr", "foreach", "fused", "capturable"}
    return names - {"maximize", "differentiable", "betas"}
