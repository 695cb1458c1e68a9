"""How many gradients a second a design makes with so many workers: its processes are run in simulated seconds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from course.scale.costs import Costs
from course.scale.designs import coordinator, follower, ring_rank, tree_rank, worker
from course.scale.events import run

DESIGNS = ("asynchronous", "synchronous", "ring", "tree")


def simulate(
    design: str,
    workers: int,
    costs: Costs,
    compute: Sequence[float],
    nbytes: float,
    *,
    shards: int = 1,
    cores: int | None = None,
    rounds: int = 4,
    seed: int = 0,
) -> float:
    """Return the seconds a gradient that `workers` take together: 0.001 are 1,000 gradients a second.

    - `design`: "asynchronous" or "synchronous", with parameters on `shards` servers; "ring" or "tree", with none.
    - `compute`: seconds of some real gradients, from which each is drawn by `seed`. `nbytes`: of one gradient.
    - `cores`: that all share; None: one for each process. `rounds`: gradients of each worker, after a first one.
    """
    if design not in DESIGNS:
        raise ValueError(f"simulate(design={design!r}): legal is {', '.join(DESIGNS)}.")
    draws = np.random.default_rng(seed)
    switch = costs.switch + costs.cold * nbytes
    applied: list[float] = []
    if design in ("ring", "tree"):
        rank = ring_rank if design == "ring" else tree_rank
        seconds = draws.choice(np.asarray(compute), (workers, rounds + 1)).tolist()
        ends = [[] for _ in range(workers)]
        run([rank(k, workers, costs, nbytes, seconds[k], ends[k]) for k in range(workers)], cores, costs.wake, switch)
        return (ends[0][-1] - ends[0][0]) / (rounds * workers)
    part, servers = nbytes / shards, range(shards)
    aggregate = workers if design == "synchronous" else 1
    processes = [coordinator(servers[1:], costs, part, aggregate, (rounds + 1) * workers, applied)]
    processes += [follower(number, 0, costs, part) for number in servers[1:]]
    times = _drawn(draws, compute)
    processes += [worker(shards + k, servers, costs, times) for k in range(workers)]
    run(processes, cores, costs.wake, switch)
    return (applied[-1] - applied[workers - 1]) / (rounds * workers)


def _drawn(draws: np.random.Generator, compute: Sequence[float]) -> Iterator[float]:
    while True:
        yield from draws.choice(np.asarray(compute), 1000).tolist()
