"""`python -m course train`: everything on this machine by one command, or one role of a training that has many."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from course.training.driver.epochs import table, updates_of_an_epoch
from course.training.driver.train import train
from course.training.driver.training_plan import TrainingPlan, participants
from course.training.hooks.base import Hook, StopOnNaN
from course.training.hooks.every import SaveCheckpoint, Validate
from course.training.hooks.progress import SayParameters, SayProgress
from course.training.hooks.tensorboard import WriteSummaries
from course.training.problems.named import NamedProblem, named_problem
from course.training.problems.problem import Problem, shown
from course.training.records import TrainingResult, TrainingSettings
from course.training.server.rules import make_rule
from course.training.worker.device import checked_device


def run(
    say: Callable[[str], None],
    *,
    job_name: str | None,
    task_index: int,
    workers: int,
    ps: int,
    patience: float,
    certificate: str | None,
    insecure: bool,
    routes: tuple[str, ...] = (),
    ports: str | None = None,
    **more: Any,
) -> int:
    """Run what the command line names: one role with `job_name`, else everything here; return the exit code.

    `say`: takes a line for the reader. `more`: the cluster's flags (`spec`, `ps_hosts`, `worker_hosts`,
    `scheduler_hosts`) and those of the training, as for `report`. `routes`, `ports`: texts for a role's `Routes`, and
    its ports. Raises as `train` does.
    """
    hosts = {flag: more.pop(flag, None) for flag in ("spec", "ps_hosts", "worker_hosts", "scheduler_hosts")}
    if job_name is None:
        if any(hosts.values()):
            raise ValueError("--ps-hosts …: say which task this process is, as in --job-name worker --task-index 0")
        if routes or ports:
            raise ValueError("--route and --ports are for one role of many; alone, everything runs on this machine.")
        report(say, workers=workers, ps=ps, options={"simulated_gpus": more.pop("simulated_gpus")}, **more)
        return 0
    from course.cluster.routes import Routes
    from course.commands.task import certificate_of, spec_of
    from course.training.multihost.roles import run_role

    ways, spec = Routes.from_flags(routes), spec_of(**hosts)
    role, outcome_of = _role_of(spec, job_name, task_index, **more)
    pair = certificate_of(certificate, hosts["spec"], insecure)
    role = replace(role, certificate=pair, patience=patience, routes=ways, ports=ports)
    return run_role(role, outcome_of, say)


def report(
    say: Callable[[str], None],
    *,
    workers: int,
    ps: int = 1,
    where: str = "local",
    options: Mapping[str, Any] = MappingProxyType({}),
    device: str | None = None,
    checkpoint_dir: str | None = None,
    resume: bool = True,
    steps_to_validate: int | None = None,
    summaries_of: str = "chief",
    **more: Any,
) -> None:
    """Train on a cluster and say in lines of text: what runs, how it gets on, how good its outcome is, speed.

    `where`, `options`: a kind of `deploy`'s, and what is that kind's. `steps_to_validate`: updates between two lines
    with the parameters, None for none. `more`: as for `_training`. Raises as `train` does.
    """
    from course.deploy import deploy

    if summaries_of != "chief":
        raise ValueError("--summaries-of all is for roles; alone, --summaries DIR has the losses of every worker.")
    training = _training(workers, checkpoint_dir is not None, device=device, **more)
    task, settings = training.task, training.settings
    hooks = [*training.hooks, SayProgress(say)]
    hooks += [SayParameters(say, steps_to_validate)] if steps_to_validate else []
    how = f"{training.optimizer.func.__name__.lower()} with learning rate {training.optimizer.keywords['lr']:g}"
    say(f"{shown(task)}: {settings.mode}, {how}, {settings.limit} updates")
    with deploy(where, ps=ps, worker=workers, **options) as cluster:
        say(f"running: {', '.join(cluster.tasks)}")
        result = train(
            task,
            cluster,
            optimizer=training.optimizer,
            mode=settings.mode,
            total_steps=settings.limit,
            max_staleness=settings.max_staleness,
            aggregate=settings.aggregate,
            seed=settings.seed,
            hooks=hooks,
            checkpoint_dir=checkpoint_dir,
            resume=resume,
            device=device,
        )
    for line in training.lines(result):
        say(line)


def check(
    workers: int, *, checkpoint_dir: str | None, resume: bool, steps_to_validate: int | None, **more: Any
) -> None:
    """Raise what `report` raises for these arguments before it starts anything."""
    _training(workers, checkpoint_dir is not None, **more)


def _role_of(spec, job, index, *, device, simulated_gpus, checkpoint_dir, resume, **more):
    """Return the `Role` of task `index` of `job`, and the function from a result to lines that `run_role` takes."""
    from course.training.multihost.roles import Role

    if job not in ("ps", "worker"):
        raise ValueError(
            f"--job-name {job}: a training has the roles ps and worker; the scheduler is in the first ps's process, "
            "or, with --scheduler-hosts, a task of its own: `python -m course task --job scheduler` with these hosts."
        )
    servers, workers = participants(spec.tasks)
    spec.task_address(job, index)
    every, whose = more.pop("steps_to_validate"), more.pop("summaries_of")
    if whose == "all" and more["summaries"] is None:
        raise ValueError("--summaries-of all: say where, by --summaries DIR.")
    own = os.path.join(more["summaries"], f"{job}_{index}") if whose == "all" else None
    training = _training(len(workers), checkpoint_dir is not None, **more)
    if job != "worker":
        training.optimizer([torch.zeros(1)])  # a first one imports a lot: now, not when the shards are waited for
        return Role(spec, job, index, None, own_summaries=own), None
    plan = TrainingPlan(training.task, training.optimizer, training.settings, servers, workers, checked_device(device))
    role = Role(
        spec,
        job,
        index,
        plan,
        hooks=training.hooks,
        checkpoint_dir=checkpoint_dir,
        resume=resume,
        simulated_gpus=(simulated_gpus, "H200") if simulated_gpus else None,
        parameters_every=every,
        own_summaries=own,
    )
    return role, training.lines


@dataclass(frozen=True)
class _Training:
    """What the flags ask for: a problem, how it is trained, what happens meanwhile, and words for the outcome."""

    choice: NamedProblem
    task: Problem
    optimizer: partial[torch.optim.Optimizer]
    settings: TrainingSettings
    hooks: tuple[Hook, ...]
    epoch: int | None  # its updates, where training is counted in epochs

    def lines(self, result: TrainingResult) -> Iterator[str]:
        """Yield lines of text: a table of the epochs, where they are counted, then `outcome`."""
        if self.epoch is not None:
            yield from table(result, self.epoch, next((h for h in self.hooks if isinstance(h, Validate)), None))
        yield from outcome(self.choice, self.task, result)


def _training(
    workers: int,
    saves: bool,
    *,
    problem: str,
    mode: str,
    steps: int | None = None,
    epochs: int | None = None,
    optimizer: str | None = None,
    learning_rate: float | None = None,
    settings: str | None = None,
    data: str | None = None,
    validate: int | None = None,
    summaries: str | None = None,
    save_model_secs: float | None = None,
    device: str | None = None,
    **more: Any,
) -> _Training:
    """Return what the flags ask for, checked: ValueError for a wrong one. `saves`: whether there is a checkpoint_dir.

    `problem`, `optimizer`, `learning_rate`, `settings`, `data`: as for `named_problem`. `steps` or `epochs`: how long.
    `validate`: updates between two validations, `summaries`: a folder, `save_model_secs`: seconds between checkpoints;
    None for the usual. `more`: other fields of `TrainingSettings`.
    """
    choice = named_problem(problem, settings, data)
    made, task = choice.made(optimizer, learning_rate), choice.make()
    how = TrainingSettings(mode, workers, choice.steps if steps is None else steps, **more)
    make_rule(how, None)
    checked_device(device)
    epoch = None
    if epochs is not None:
        if steps is not None:
            raise ValueError(f"--steps {steps} --epochs {epochs}: give one of them.")
        epoch = updates_of_an_epoch(task, how)
        how = replace(how, limit=epochs * epoch)
        validate = validate or (epoch if callable(getattr(task, "validate", None)) else None)
    hooks = _hooks(task, problem, validate, summaries)
    if save_model_secs is not None:
        if not saves:
            raise ValueError(f"--save-model-secs {save_model_secs:g}: say where to save, by --checkpoint-dir DIR.")
        hooks += (SaveCheckpoint(seconds=save_model_secs),)
    return _Training(choice, task, made, how, hooks, epoch)


def _hooks(task: Problem, name: str, validate: int | None, summaries: str | None) -> tuple[Hook, ...]:
    """Return the hooks that the flags ask for; ValueError for a problem that can't be validated."""
    hooks: list[Hook] = [StopOnNaN()]
    if validate is not None:
        if not callable(getattr(task, "validate", None)):
            raise ValueError(
                f"--validate: the problem {name} has no validate(parameters). Leave the flag out, or give your own "
                'problem one that returns a dict of numbers, such as {"accuracy": 0.9}.'
            )
        hooks.append(Validate(validate))
    if summaries is not None:
        hooks.append(WriteSummaries(summaries))
    return tuple(hooks)


def outcome(choice: NamedProblem, problem: Problem, result: TrainingResult) -> Iterator[str]:
    """Yield lines of text: how good the parameters are, speed, staleness, and what had to be survived."""
    yield from choice.outcome(problem, result.parameters)
    yield from _speed(result)
    for device in str(result.devices).splitlines()[1:] if result.devices else ():
        yield f"computed on {device}"
    if result.incarnations > 1:
        yield f"parameter servers lost: {result.incarnations - 1}; gone on from step {result.restored_from}"
    elif result.restored_from is not None:
        yield f"gone on from step {result.restored_from}"


def _speed(result):
    gradients = "" if result.mode == "async" else f" of {len(result.history) / max(1, result.version):g} gradients each"
    yield f"{result.version} updates{gradients} in {result.seconds:.2f} s: {result.steps_per_second:,.0f} a second"
    counts = ", ".join(f"{late}: {count}" for late, count in result.staleness_counts().items())
    yield f"staleness (updates late: gradients)  {counts}"
    if result.stopped_by:
        yield f"stopped: {result.stopped_by}"
