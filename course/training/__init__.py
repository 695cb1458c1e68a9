"""A parameter server: one process keeps the parameters, workers pull them, compute gradients and push them back.

Read in this order: `problem` (what is trained), `store` (pull, push, version), `rules` (who may change the store, and
when), `turns` (one process plays all the workers), then the real processes: `wire`, `shared_memory`, `shards` (what
lies where), `seats` and `exchange` (what shard 0 decides), `order` and `follower` (how the others do the same),
`server`, `worker`, `talk` and `session`.

What runs where: stores and optimisers in the ps tasks, `Problem.batch` and `loss` in the worker tasks; every hook, and
all writing of checkpoints and summaries, in the process that called `train`. Read for it `hooks` (yours too), `saving`,
`validation`, `progress`, `summaries`; then `snapshot`, `checkpoint`, `manifest` and `payload` (what is on the disk).
"""

from course.training.checkpoint import Checkpoint, Checkpoints, CheckpointWarning
from course.training.hooks import Hook, Session, StopAtStep, StopOnNaN
from course.training.manifest import CheckpointError
from course.training.mnist import mnist
from course.training.pace import paced
from course.training.problem import Problem, batch_generator, linear_regression, slowed
from course.training.progress import ShowProgress, StepRate
from course.training.result import Event, Step, TrainingResult
from course.training.rules import Asynchronous, Push, Synchronous
from course.training.saving import SaveCheckpoint
from course.training.session import TrainingError, train
from course.training.snapshot import Applied, Snapshot
from course.training.store import NonFiniteError, ParameterServer
from course.training.summaries import WriteSummaries
from course.training.turns import train_in_turns
from course.training.validation import Validate

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
