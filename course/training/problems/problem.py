"""A problem: where the parameters start, which data a worker sees, and how wrong the parameters are on it."""

import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy
import torch

#: From a list of tensors to the optimiser that will change them, such as `functools.partial(torch.optim.SGD, lr=0.05)`.
MakeOptimizer = Callable[[list[torch.Tensor]], torch.optim.Optimizer]
_WORD = (1 << 64) - 1


class Problem(Protocol):
    """What `train` needs. A problem travels to the workers once, at the start; it must not keep state between calls."""

    def initial(self) -> dict[str, torch.Tensor]:
        """Return the first parameters: name to tensor."""

    def batch(self, worker: int, version: int, generator: torch.Generator) -> Any:
        """Return the data of one gradient; all randomness comes from `generator`, which (seed, worker, version) fix."""

    def loss(self, parameters: dict[str, torch.Tensor], batch: Any) -> torch.Tensor:
        """Return the mean loss over the batch: one number, differentiable in the parameters."""


def shown(problem: object, width: int = 100) -> str:
    """Return the repr of `problem`, in one line of at most `width` signs: one that holds data may be of thousands."""
    return textwrap.shorten(repr(problem), width, placeholder=" …")


def missing_methods(problem: object) -> list[str]:
    """Return the names of what `problem` lacks to be a `Problem`."""
    return [name for name in ("initial", "batch", "loss") if not callable(getattr(problem, name, None))]


def batch_generator(seed: int, worker: int, version: int, generator: torch.Generator | None = None) -> torch.Generator:
    """Return a CPU generator, or `generator` seeded anew: on every machine as (seed, worker, version) fix it."""
    word = _mixed(_mixed(_mixed(seed & _WORD) ^ worker) ^ version)
    generator = torch.Generator() if generator is None else generator
    return generator.manual_seed(word >> 32)  # PyTorch's CPU generator reads 32 bits of its seed


def _mixed(word):
    # splitmix64's finaliser (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


@dataclass(frozen=True)
class LeastSquares:
    """The exact answer to a line fit: ordinary least squares, with the standard error of each parameter."""

    slope: float
    intercept: float
    slope_error: float
    intercept_error: float


@dataclass(frozen=True, eq=False, repr=False)
class LinearRegression:
    """Points `(x, y)` around a line; both float32 tensors of shape `(points,)`. A batch is drawn with replacement."""

    x: torch.Tensor
    y: torch.Tensor
    slope: float
    intercept: float
    batch_size: int

    def __repr__(self):
        return f"LinearRegression(y = {self.slope:g}·x + {self.intercept:g} + noise, {len(self.x)} points)"

    @property
    def batches_per_epoch(self) -> int:
        """How many batches have as many points as there are."""
        return max(1, len(self.x) // self.batch_size)

    def initial(self) -> dict[str, torch.Tensor]:
        """Return slope and intercept, both 0."""
        return {"slope": torch.zeros(()), "intercept": torch.zeros(())}

    def batch(self, worker: int, version: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `batch_size` of the points, as `(x, y)`."""
        chosen = torch.randint(len(self.x), (self.batch_size,), generator=generator)
        return self.x[chosen], self.y[chosen]

    def loss(self, parameters: dict[str, torch.Tensor], batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the mean squared distance between the line and the batch's points."""
        x, y = batch
        return (parameters["slope"] * x + parameters["intercept"] - y).square().mean()

    def module(self, parameters: dict[str, torch.Tensor]) -> "Line":
        """Return the line with these parameters as a module, to export; it shares their memory."""
        return Line(**parameters)

    def least_squares(self) -> LeastSquares:
        """Return the best line for these points, computed in float64: training should come close to it."""
        best, covariance = numpy.polyfit(self.x.double().numpy(), self.y.double().numpy(), 1, cov=True)
        return LeastSquares(*best.tolist(), *numpy.sqrt(covariance.diagonal()).tolist())


class Line(torch.nn.Module):
    """A line: from places `x`, float32 `(n,)`, to `y` there, float32 `(n,)`."""

    def __init__(self, slope: torch.Tensor, intercept: torch.Tensor):
        super().__init__()
        self.slope, self.intercept = torch.nn.Parameter(slope), torch.nn.Parameter(intercept)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return `y`, for each place."""
        return self.slope * x + self.intercept


def linear_regression(
    slope: float = 2.0,
    intercept: float = 10.0,
    noise: float = 0.33,
    points: int = 100,
    batch_size: int = 20,
    data_seed: int = 0,
) -> LinearRegression:
    """Return the classic problem: `y = slope·x + intercept + noise·N(0, 1)` at `points` places from −1 to 1.

    The points are the same for the same `data_seed`. Raises ValueError for fewer than 3 points, an empty batch, or
    negative noise.

    >>> linear_regression(slope=2, intercept=0.2, noise=0.4, points=101)
    LinearRegression(y = 2·x + 0.2 + noise, 101 points)
    """
    if points < 3 or batch_size < 1 or not noise >= 0:
        raise ValueError(
            f"linear_regression(points={points}, batch_size={batch_size}, noise={noise}): "
            "a line with an error needs points ≥ 3, batch_size ≥ 1 and noise ≥ 0."
        )
    x = torch.linspace(-1, 1, points)
    generator = torch.Generator().manual_seed(data_seed)
    y = slope * x + intercept + noise * torch.randn(points, generator=generator)
    return LinearRegression(x, y, float(slope), float(intercept), batch_size)


@dataclass(frozen=True)
class Slowed:
    """A problem on which `worker` (None: each) takes `seconds` longer for a batch; all else is the problem's own."""

    problem: Problem
    worker: int | None
    seconds: float

    def initial(self) -> dict[str, torch.Tensor]:
        """Return the problem's first parameters."""
        return self.problem.initial()

    def batch(self, worker: int, version: int, generator: torch.Generator) -> Any:
        """Return the problem's batch, late if this is a slow worker."""
        if self.worker in (None, worker):
            time.sleep(self.seconds)
        return self.problem.batch(worker, version, generator)

    def loss(self, parameters: dict[str, torch.Tensor], batch: Any) -> torch.Tensor:
        """Return the problem's loss."""
        return self.problem.loss(parameters, batch)

    def __getattr__(self, name: str) -> Any:
        """Return what else the problem has, such as `module` or `validate`; AttributeError where it has none."""
        if name.startswith("_") or name == "problem":  # of a copy that is just being made
            raise AttributeError(name)
        return getattr(self.problem, name)


def slowed(problem: Problem, worker: int = 1, seconds: float = 0.005) -> Slowed:
    """Return the same problem, with worker number `worker` slower by `seconds` a step: to see who waits for whom."""
    return Slowed(problem, worker, seconds)
