"""A parameter server: one process keeps the parameters, workers pull them, compute gradients and push them back.

Each room has one part; a room imports only rooms below it in this list.

- `multihost`: roles that are started by hand on many hosts (`roles`), who becomes chief (`chief_election`), what the
  chief does (`chief_pool`) and what each role says of its own (`worker_reports`).
- `driver`: the process that calls `train`. `in_process` is the reference: one process has all the workers. `run` is
  what happens while the parameter servers live, and when one dies; `training_plan` says which has what.
- `hooks`: what may happen around a step (`base`, `fetches`), yours too; `every`, `progress`, `tensorboard`.
- `server`: pull, push, version (`store`, `flat_sgd`); when a push is applied (`rules`); what shard 0 decides
  (`coordinator`, `attendance`, `reply_slots`); how the other shards do the same (`update_log`, `follower`,
  `shard_links`); the process around one shard (`shard_server`), which serves a driver (`driver_service`) and workers
  (`worker_service`), with one thread for synchronous pushes in short frames (`push_reader`).
- `checkpoint`: a training at one version (`snapshot`), and how it lies on the disk (`checkpoints`, `manifest`,
  `data_file`, `folder_lock`).
- `worker`: the loop (`worker_loop`) and its `shard_connections`.
- `transport`: how tensors lie in a buffer (`layout`) and reach another process (`wire`, `shared_memory`, `pipes`), and
  who may connect (`listener`).
- `problems`: what is trained (`problem`). `records`: what every room speaks of: result, settings, errors.

What runs where: stores and optimisers in the ps tasks, `Problem.batch` and `loss` in the worker tasks; every hook, and
all writing of checkpoints and summaries, in the driver. docs/training.md has the states and what must always hold.
"""

import logging

from course.signals import held_back

logging.getLogger(__name__).addHandler(logging.NullHandler())  # whoever wants to read of it adds one of their own

with held_back():  # an interrupt finds every import done, or none
    from course.training.checkpoint.checkpoints import Checkpoint, Checkpoints, CheckpointWarning
    from course.training.checkpoint.manifest import CheckpointError
    from course.training.checkpoint.snapshot import Applied, Snapshot
    from course.training.driver.in_process import train_in_turns
    from course.training.driver.train import train
    from course.training.hooks.base import Hook, Session, StopAtStep, StopOnNaN
    from course.training.hooks.every import SaveCheckpoint, Validate
    from course.training.hooks.progress import ShowProgress, StepRate
    from course.training.hooks.tensorboard import WriteSummaries
    from course.training.problems.mnist import mnist
    from course.training.problems.paced import paced
    from course.training.problems.problem import Problem, batch_generator, linear_regression, slowed
    from course.training.records import Event, NonFiniteError, Step, TrainingError, TrainingResult
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
