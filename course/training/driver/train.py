"""`train`: parameter-server tasks, worker tasks, and this process, which starts them, tells the hooks and saves."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from typing import TYPE_CHECKING

from course.training.checkpoint.folder_lock import LockedCheckpoints, lock_of
from course.training.checkpoint.resumed import warn_of_changes
from course.training.driver.run import Run
from course.training.driver.training_plan import TrainingPlan, participants
from course.training.driver.worker_pool import WorkerPool, warm_up, worker_devices
from course.training.hooks.base import Hook
from course.training.hooks.every import check_validation, with_saving
from course.training.problems.problem import MakeOptimizer, Problem
from course.training.records import PlacementRule, Route, TrainingResult, TrainingSettings
from course.training.server.store import ParameterServer
from course.training.worker.device import checked_device

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster


def train(
    problem: Problem,
    cluster: "Cluster",
    *,
    optimizer: MakeOptimizer,
    mode: str = "async",
    workers: int | None = None,
    total_steps: int = 1000,
    hooks: Sequence[Hook] = (),
    max_staleness: int | None = None,
    aggregate: int | None = None,
    seed: int = 0,
    checkpoint_dir: str | PathLike | None = None,
    keep: int = 5,
    resume: bool = True,
    placement: str | PlacementRule = "by_size",
    device: str | None = None,
    routes: Mapping[int, Route] | None = None,
) -> TrainingResult:
    """Train `problem` on the cluster's `ps` tasks and its `worker` tasks; return a `TrainingResult`.

    - `problem`: a `Problem`. `optimizer`: from a list of tensors to a `torch.optim` optimiser, which lives on the
      parameter servers: `functools.partial(torch.optim.SGD, lr=0.05)`.
    - `mode`: "async", every gradient is applied when it arrives; with `max_staleness`, those older than that many
      updates are dropped. "sync": an update is the mean of `aggregate` distinct workers' gradients (default: all).
    - `workers`: how many of the worker tasks take part (default: all). `total_steps`: exactly so many updates, those
      before a checkpoint that training goes on from among them.
    - `hooks`: see `Hook`; they run here. `seed`: with the worker's index and the version it fixes each batch.
    - `checkpoint_dir`: a folder of this process's machine, or a store's address (`s3://bucket/folder`, see
      docs/training.md), for the newest `keep` checkpoints: of version 0, every 10 s or as a `SaveCheckpoint` among
      the hooks says, and of the end, after an error or an interrupt too. With `resume`, training goes on from the
      newest one that is there, on any number of ps tasks, and warns where learning rate, seed or the like is another
      than then; without, it starts anew, and its checkpoints push the older ones out. Where there are some and none
      can be read: CheckpointError.
    - `placement`: how parameters are spread over the ps tasks, "by_size", "round_robin", or a rule of your own,
      `place(name, tensor) -> index` of a ps task, from 0. The result's `placement` says which task kept what.
    - `device`: what each worker computes on, `"/gpu:0"` of its own task, real or simulated; its CPU by default. The
      parameters and the batch are there when `loss` is called. The result's `devices` lists them.
    - `routes`: worker's number -> a function from the (host, port) of a shard to the one that this worker connects to:
      of a tunnel, a forwarded port, a slow line (`course.distance.Link.to`). The others connect straight.

    A worker that dies or falls silent: the others go on, and it joins again when it is back. A ps that does: training
    goes on from the newest checkpoint, a few seconds later; without a `checkpoint_dir` that is a TrainingError. Raises
    TrainingError, in at most 5 s, when a worker's code fails or nothing can be recovered; NonFiniteError when a
    gradient is not finite and no hook asks to stop; ValueError for wrong arguments, and for a checkpoint of another
    model or optimiser, before anything starts.
    """
    check_validation(problem, hooks)
    ps, chosen = participants(cluster.tasks, workers)
    device = checked_device(device)
    warming = warm_up(cluster, ps)
    settings = TrainingSettings(mode, len(chosen), total_steps, max_staleness, aggregate, placement, seed=seed)
    plan = TrainingPlan(problem, optimizer, settings, ps, chosen, device, routes or {})
    devices = worker_devices(cluster, plan)
    for future in warming:
        future.release()
    return train_with(WorkerPool(cluster, plan, devices, cluster.route), hooks, checkpoint_dir, keep, resume)


def train_with(
    pool: WorkerPool,
    hooks: Sequence[Hook] = (),
    checkpoint_dir: str | PathLike | None = None,
    keep: int = 5,
    resume: bool = True,
) -> TrainingResult:
    """Train as `train` does, the plan and the processes being those of `pool`."""
    with ExitStack() as held:
        checkpoints = start = None
        if checkpoint_dir is not None:
            lock = held.enter_context(lock_of(checkpoint_dir, pool.training, pool.term))
            checkpoints = LockedCheckpoints(lock, keep)
            if pool.took_over:  # from running shards; from a checkpoint of this training only where these are lost
                start = checkpoints.latest()
            elif resume:
                start = checkpoints.to_resume()
        # raises what a shard of it would raise
        store, settings = ParameterServer(pool.plan.problem.initial(), pool.plan.optimizer, start), pool.plan.settings
        if start is not None and not pool.took_over:
            warn_of_changes(start, store.state().optimizer, settings.seed, settings.limit)
        return Run(pool, with_saving(hooks, checkpoints), checkpoints, start).result()
