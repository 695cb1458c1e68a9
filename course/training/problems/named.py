"""The problems that the command line knows by name, each with the settings to train it and words for its outcome."""

import math
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module

import torch

from course.training.problems.mnist import CLASSIC, TUNED, mnist
from course.training.problems.problem import Problem, batch_generator, linear_regression, missing_methods, shown

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


def named_problem(name: str, settings: str | None = None, data: str | None = None) -> NamedProblem:
    """Return the problem called `name`; `settings` ("classic" or "tuned", the default) is for mnist alone.

    So is `data`, a file of other digits or its address.

    `package.module:function` names the reader's own: what that function returns. Raises ValueError for another name,
    or for settings or data that the problem doesn't have; RuntimeError with the place when the reader's code raises.
    """
    if data is not None and name != "mnist":
        raise ValueError(f"--data {data}: the problem {name} has its own data; mnist takes other digits.")
    if ":" in name:
        if settings is not None:
            raise ValueError(f"--settings {settings}: the problem {name} has no settings to choose from.")
        return _own(name)
    if name not in PROBLEMS:
        raise ValueError(
            f"--problem {name}: there are {', '.join(PROBLEMS)}; your own is package.module:function, such as "
            "mine:make for the function make in mine.py."
        )
    choices = PROBLEMS[name]
    if settings not in (None, *choices):
        legal = f"has {' and '.join(choices)}" if len(choices) > 1 else "has no settings to choose from"
        raise ValueError(f"--settings {settings}: the problem {name} {legal}.")
    choice = choices[settings or next(iter(choices))]
    return choice if data is None else replace(choice, make=partial(mnist, **choice.make.keywords, data=data))


def _own(name):
    """The problem that a function of the reader's own makes; `name`: package.module:function."""
    module, _, function = name.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), function]):
        raise ValueError(f"--problem {name}: write package.module:function, such as mine:make for make in mine.py.")
    make = getattr(_readers(name, lambda: import_module(module)), function, None)
    if not callable(make):
        raise ValueError(f"--problem {name}: the module {module} has no function {function}.")
    return NamedProblem(lambda: _own_problem(name, make), "sgd", 0.05, 1000, _values)


def _own_problem(name, make):
    problem = _readers(name, make)
    if missing := missing_methods(problem):
        has_no = f"--problem {name}: it returned {shown(problem)}, which has no {', '.join(missing)}"
        raise ValueError(f"{has_no}. See course.training.Problem.")
    return problem


def _readers(name, call):
    """Return what `call()` returns; an exception of the reader's code is raised again with its place, in one line."""
    try:
        return call()
    except Exception as error:  # the reader's module or function may raise anything
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = "" if at.filename in (__file__, import_module.__code__.co_filename) or "<frozen" in at.filename else at
        place = f" ({where.filename}, line {where.lineno})" if where else ". It is looked for in this folder first"
        raise RuntimeError(f"--problem {name}: {type(error).__name__}: {error}{place}.") from error


def _values(problem, parameters):
    """Yield a line for any problem: the values of its own `validate`, or the loss on one batch."""
    if callable(getattr(problem, "validate", None)):
        values = problem.validate(parameters)
        yield "validated: " + ", ".join(f"{key} {float(value):.4g}" for key, value in values.items())
        return
    batch = problem.batch(0, 0, batch_generator(0, 0, 0))
    yield f"loss on worker 0's first batch: {problem.loss(parameters, batch).item():.4g}"


def _line(problem, parameters):
    best = problem.least_squares()
    for name in ("slope", "intercept"):
        value, exact, error = parameters[name].item(), getattr(best, name), getattr(best, f"{name}_error")
        off = abs(value - exact) / error
        yield f"{name:<9} {value:8.3f}   least squares {exact:.3f} ± {error:.3f}: {off:.1f} standard errors off"


def _held_out(problem, parameters):
    values = problem.validate(parameters)
    yield f"held out: {values['accuracy']:.1%} right, loss {values['loss']:.3f}, on {len(problem.test_labels)} digits"


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
