"""A parameter server: one process keeps the parameters, workers pull them, compute gradients and push them back.

Read in this order: `problem` (what is trained), `store` (pull, push, version), `rules` (who may change the store, and
when), `turns` (one process plays all the workers), then the real processes: `wire`, `shared_memory`, `shards` (what
lies where), `slots` and `exchange` (what shard 0 decides), `order` and `follower` (how the others do the same),
`server`, `worker`, `client` and `session`.

What runs where: stores and optimisers in the ps tasks, `Problem.batch` and `loss` in the worker tasks; every hook, and
all writing of checkpoints and summaries, in the process that called `train`. Read for it `hooks` (yours too), `saving`,
`validation`, `progress`, `summaries`; then `snapshot`, `checkpoint`, `manifest` and `payload` (what is on the disk).
"""

from course.training.checkpoint.checkpoints import Checkpoint, Checkpoints, CheckpointWarning
from course.training.checkpoint.manifest import CheckpointError
from course.training.checkpoint.snapshot import Applied, Snapshot
from course.training.driver.in_process import train_in_turns
from course.training.driver.train import train
from course.training.hooks.base import Hook, Session, StopAtStep, StopOnNaN
from course.training.hooks.progress import ShowProgress, StepRate
from course.training.hooks.save_checkpoint import SaveCheckpoint
from course.training.hooks.tensorboard import WriteSummaries
from course.training.hooks.validate import Validate
from course.training.problems.mnist import mnist
from course.training.problems.paced import paced
from course.training.problems.problem import Problem, batch_generator, linear_regression, slowed
from course.training.records.errors import NonFiniteError, TrainingError
from course.training.records.result import Event, Step, TrainingResult
from course.training.server.rules import Asynchronous, Push, Synchronous
from course.training.server.store import ParameterServer

__all__ = [
    "Applied",
    "Asynchronous",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "Checkpoints",
    "Event",
    "Hook",
    "NonFiniteError",
    "ParameterServer",
    "Problem",
    "Push",
    "SaveCheckpoint",
    "Session",
    "ShowProgress",
    "Snapshot",
    "Step",
    "StepRate",
    "StopAtStep",
    "StopOnNaN",
    "Synchronous",
    "TrainingError",
    "TrainingResult",
    "Validate",
    "WriteSummaries",
    "batch_generator",
    "linear_regression",
    "mnist",
    "paced",
    "slowed",
    "train",
    "train_in_turns",
]
