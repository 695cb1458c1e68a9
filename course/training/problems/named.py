"""The problems that the command line knows by name, each with the settings to train it and words for its outcome."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from course.training.problems.mnist import CLASSIC, TUNED, mnist
from course.training.problems.problem import Problem, linear_regression

OPTIMIZERS = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}


@dataclass(frozen=True)
class NamedProblem:
    """A problem with a name: `make()` returns it; `optimizer` (a name), `learning_rate` and `steps` are its own.

    `outcome(problem, parameters)` yields lines of text: how good the parameters are.
    """

    make: Callable[[], Problem]
    optimizer: str
    learning_rate: float
    steps: int
    outcome: Callable[[Problem, dict], Iterator[str]]

    def made(self, optimizer: str | None = None, learning_rate: float | None = None) -> partial[torch.optim.Optimizer]:
        """Return what `train(optimizer=…)` takes: this problem's own optimiser and rate unless others are given."""
        rate = self.learning_rate if learning_rate is None else learning_rate
        if not (rate > 0 and math.isfinite(rate)):
            raise ValueError(f"--learning-rate {rate}: give a finite number above 0, such as {self.learning_rate}.")
        return partial(OPTIMIZERS[optimizer or self.optimizer], lr=rate)


def named_problem(name: str, settings: str | None = None) -> NamedProblem:
    """Return the problem called `name`; `settings` ("classic" or "tuned", the default) is for mnist alone.

    Raises ValueError for another name or for settings that the problem doesn't have.
    """
    if name not in PROBLEMS:
        raise ValueError(f"--problem {name}: there are {', '.join(PROBLEMS)}.")
    choices = PROBLEMS[name]
    if settings not in (None, *choices):
        legal = f"has {' and '.join(choices)}" if len(choices) > 1 else "has no settings to choose from"
        raise ValueError(f"--settings {settings}: the problem {name} {legal}.")
    return choices[settings or next(iter(choices))]


def _line(problem, parameters):
    best = problem.least_squares()
    for name in ("slope", "intercept"):
        value, exact, error = parameters[name].item(), getattr(best, name), getattr(best, f"{name}_error")
        off = abs(value - exact) / error
        yield f"{name:<9} {value:8.3f}   least squares {exact:.3f} ± {error:.3f}: {off:.1f} standard errors off"


def _held_out(problem, parameters):
    found = problem.validate(parameters)
    yield f"held out: {found['accuracy']:.1%} right, loss {found['loss']:.3f}, on {len(problem.test_labels)} digits"


def _digits(settings):
    names = {kind: name for name, kind in OPTIMIZERS.items()}
    make = partial(mnist, weights=settings.weights)
    return NamedProblem(make, names[settings.optimizer], settings.learning_rate, settings.steps, _held_out)


_LINE_101 = partial(linear_regression, slope=2, intercept=0.2, noise=0.4, points=101)

#: name -> settings -> the problem; the first settings are the usual ones.
PROBLEMS = {
    "linear": {"usual": NamedProblem(linear_regression, "sgd", 0.02, 2000, _line)},
    "linear-101": {"usual": NamedProblem(_LINE_101, "adagrad", 0.8, 2000, _line)},
    "mnist": {"tuned": _digits(TUNED), "classic": _digits(CLASSIC)},
}
