"""A parameter server: one process keeps the parameters, workers pull them, compute gradients and push them back.

Read in this order: `problem` (what is trained), `store` (pull, push, version), `rules` (who may change the store, and
when), `turns` (one process plays all the workers), then `wire`, `server`, `worker` and `session` (real processes).
"""

from course.training.hooks import Hook, StopAtStep, StopOnNaN
from course.training.mnist import mnist
from course.training.problem import Problem, batch_generator, linear_regression, slowed
from course.training.result import Event, Step, TrainingResult
from course.training.rules import Asynchronous, Push, Synchronous
from course.training.session import TrainingError, train
from course.training.store import NonFiniteError, ParameterServer
from course.training.turns import train_in_turns

__all__ = [
    "Asynchronous",
    "Event",
    "Hook",
    "NonFiniteError",
    "ParameterServer",
    "Problem",
    "Push",
    "Step",
    "StopAtStep",
    "StopOnNaN",
    "Synchronous",
    "TrainingError",
    "TrainingResult",
    "batch_generator",
    "linear_regression",
    "mnist",
    "slowed",
    "train",
    "train_in_turns",
]
