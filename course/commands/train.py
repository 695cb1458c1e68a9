"""`python -m course train`: everything on this machine by one command, or one role of a training that has many."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import torch

from course.training.driver.train import train
from course.training.driver.training_plan import TrainingPlan, participants
from course.training.hooks.base import Hook, StopOnNaN
from course.training.hooks.every import Validate
from course.training.hooks.progress import SayProgress
from course.training.hooks.tensorboard import WriteSummaries
from course.training.problems.named import NamedProblem, named_problem
from course.training.problems.problem import Problem, shown
from course.training.records import TrainingResult, TrainingSettings
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
    role = dataclasses.replace(role, certificate=pair, patience=patience, routes=ways, ports=ports)
    return run_role(role, outcome_of, say)


def report(
    say: Callable[[str], None],
    problem: str,
    mode: str,
    workers: int,
    steps: int | None = None,
    optimizer: str | None = None,
    learning_rate: float | None = None,
    settings: str | None = None,
    ps: int = 1,
    where: str = "local",
    options: Mapping[str, Any] = MappingProxyType({}),
    validate: int | None = None,
    summaries: str | None = None,
    **more: Any,
) -> None:
    """Train on a cluster and say in lines of text: what runs, how it gets on, how good its outcome is, speed.

    `where`: a kind of `deploy`'s, with its `options`. `problem`, `steps`, `optimizer`, `learning_rate`, `settings`: as
    for `named_problem`. `validate`: updates between two validations, `summaries`: a folder, None for neither. `more`:
    `seed`, `max_staleness`, `aggregate`, `checkpoint_dir`, `resume`, `device`, as for `train`. Raises as that does.
    """
    from course.deploy import deploy

    choice = named_problem(problem, settings)
    make_optimizer, steps = choice.made(optimizer, learning_rate), choice.steps if steps is None else steps
    task = choice.make()
    hooks = [*_hooks(task, problem, validate, summaries), SayProgress(say)]
    how = f"{optimizer or choice.optimizer} with learning rate {make_optimizer.keywords['lr']:g}"
    say(f"{shown(task)}: {mode}, {how}, {steps} updates")
    with deploy(where, ps=ps, worker=workers, **options) as cluster:
        say(f"running: {', '.join(cluster.tasks)}")
        result = train(task, cluster, optimizer=make_optimizer, mode=mode, total_steps=steps, hooks=hooks, **more)
    for line in outcome(choice, task, result):
        say(line)


def _role_of(
    spec, job, index, *, problem, mode, steps, optimizer, learning_rate, settings, validate, summaries, device, **more
):
    """Return the `Role` of task `index` of `job`, and the function from a result to lines that `run_role` takes."""
    from course.training.multihost.roles import Role

    if job not in ("ps", "worker"):
        raise ValueError(
            f"--job-name {job}: a training has the roles ps and worker; the scheduler is in the first ps's process, "
            "or, with --scheduler-hosts, a task of its own: `python -m course task --job scheduler` with these hosts."
        )
    servers, workers = participants(spec.tasks)
    spec.task_address(job, index)
    gpus, saving = more.pop("simulated_gpus"), {name: more.pop(name) for name in ("checkpoint_dir", "resume")}
    choice = named_problem(problem, settings)
    make_optimizer, steps = choice.made(optimizer, learning_rate), choice.steps if steps is None else steps
    if job != "worker":
        make_optimizer([torch.zeros(1)])  # a first optimiser imports a lot: now, not when the shards are waited for
        return Role(spec, job, index, None), None
    task = choice.make()
    settings = TrainingSettings(mode, len(workers), steps, **more)
    plan = TrainingPlan(task, make_optimizer, settings, servers, workers, checked_device(device))
    hooks = _hooks(task, problem, validate, summaries)
    role = Role(spec, job, index, plan, hooks=hooks, simulated_gpus=(gpus, "H200") if gpus else None, **saving)
    return role, lambda result: outcome(choice, task, result)


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
