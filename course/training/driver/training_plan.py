"""What a training is to do, decided before anything starts, and which parameters lie on which ps task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from course.training.problems.problem import MakeOptimizer, Problem, missing_methods, shown
from course.training.records import NonFiniteError, PlacementRule, Route, TrainingSettings
from course.training.server.rules import make_rule
from course.training.server.store import ParameterServer
from course.training.worker.device import checked_device

PLACEMENTS = ("by_size", "round_robin")


@dataclass(frozen=True)
class TrainingPlan:
    """The arguments of `train`, checked: ValueError for a wrong one.

    `optimizer`: from a list of tensors to a `torch.optim` optimiser. `settings`: what every shard gets. `ps` and
    `workers`: tasks' names, see `participants`. `device`: what each worker computes on, None for its CPU.
    `routes`: worker's number -> the `Route` by which it reaches the shards, where that is not straight.
    """

    problem: Problem
    optimizer: MakeOptimizer
    settings: TrainingSettings
    ps: tuple[str, ...]
    workers: tuple[str, ...]
    device: str | None = None
    routes: Mapping[int, Route] = field(default_factory=dict)

    def __post_init__(self):
        _check_problem(self.problem)
        checked_device(self.device)
        total_steps, placement = self.settings.limit, self.settings.placement
        if isinstance(total_steps, bool) or not isinstance(total_steps, int) or total_steps < 0:
            raise ValueError(f"train(total_steps={total_steps!r}): give a whole number of updates from 0 up.")
        if not callable(placement) and placement not in PLACEMENTS:
            raise ValueError(
                f"train(placement={placement!r}): choose one of {', '.join(PLACEMENTS)}, or give a rule "
                "place(name, tensor) -> index of a ps task."
            )
        if unknown := [worker for worker in self.routes if worker not in range(len(self.workers))]:
            raise ValueError(
                f"train(routes={{{unknown[0]!r}: …}}): the workers have the numbers 0 to {len(self.workers) - 1}."
            )
        make_rule(self.settings, None)
        ParameterServer(self.problem.initial(), self.optimizer)  # raises what it raises for one that it can't keep
        spread(self.problem.initial(), len(self.ps), placement)  # raises for a rule with an index of no ps task


def participants(tasks: Sequence[str], workers: int | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (all ps tasks, the first `workers` worker tasks, None: all); ValueError where there are not so many."""
    ps, all_workers = (tuple(t for t in tasks if t.startswith(f"/job:{job}/")) for job in ("ps", "worker"))
    if not ps or not all_workers:
        raise ValueError(
            f"train(cluster): its tasks are {', '.join(tasks)}; a ps task and a worker task are needed. "
            "Use local_cluster(ps=1, worker=2), deploy('slurm', ps=1, …) or deploy('ssh', ps=1, …), or name both "
            "by --ps-hosts and --worker-hosts."
        )
    count = len(all_workers) if workers is None else workers
    if not 1 <= count <= len(all_workers):
        raise ValueError(f"train(workers={workers}): this cluster has 1 to {len(all_workers)} to offer.")
    return ps, all_workers[:count]


def spread(
    parameters: dict[str, torch.Tensor], shards: int, placement: str | PlacementRule = "by_size"
) -> list[list[str]]:
    """Return the names of each shard's parameters: a list of at most `shards` lists, empty ones only by a rule.

    - "by_size": the largest tensor first, each to the shard with the fewest bytes so far.
    - "round_robin": in the order of the names as they stand, one after the other.
    - a rule, called with each name and tensor: to the shard of the index that it returns, from 0.

    With fewer parameters than tasks, the last tasks get none. Raises ValueError for another placement, or index.

    >>> import torch
    >>> shapes = {"w1": (784, 100), "b1": (100,), "w2": (100, 10), "b2": (10,)}
    >>> layers = {name: torch.zeros(shape) for name, shape in shapes.items()}
    >>> spread(layers, 2)
    [['w1'], ['b1', 'w2', 'b2']]
    >>> spread(layers, 2, "round_robin")
    [['w1', 'w2'], ['b1', 'b2']]
    >>> spread(layers, 2, lambda name, tensor: 1 if tensor.dim() == 1 else 0)
    [['w1', 'w2'], ['b1', 'b2']]
    """
    if callable(placement):
        return _by_rule(parameters, shards, placement)
    names, shards = list(parameters), min(shards, len(parameters))
    if placement == "round_robin":
        return [names[first::shards] for first in range(shards)]
    if placement != "by_size":
        raise ValueError(f'placement={placement!r}: use "by_size" or "round_robin".')
    held: list[list[str]] = [[] for _ in range(shards)]
    held_bytes = [0] * shards
    for name in sorted(names, key=lambda name: -parameters[name].nbytes):  # a stable sort: equals keep their order
        # an empty shard counts as lighter than one that holds a tensor of no bytes
        lightest = min(range(shards), key=lambda shard: (held_bytes[shard], len(held[shard])))
        held[lightest].append(name)
        held_bytes[lightest] += parameters[name].nbytes
    return [[name for name in names if name in on_shard] for on_shard in held]


def _by_rule(parameters, shards, rule):
    held = [[] for _ in range(shards)]
    for name, tensor in parameters.items():
        index = rule(name, tensor)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < shards:
            raise ValueError(
                f"placement={shown(rule)}: it returned {index!r} for {name!r}. Return the index of one of {shards} ps "
                f"tasks, 0 to {shards - 1}."
            )
        held[index].append(name)
    return held


def _check_problem(problem):
    if missing := missing_methods(problem):
        has_no = f"train(problem={shown(problem)}): it has no {', '.join(missing)}"
        raise ValueError(f"{has_no}. See course.training.Problem.")
    for name, value in problem.initial().items():
        if not bool(value.isfinite().all()):
            raise NonFiniteError(f"the first value of {name!r}", version=0)
