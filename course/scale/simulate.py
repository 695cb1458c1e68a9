"""How many gradients a second a design makes with so many workers: its processes are run in simulated seconds."""

from collections.abc import Iterator, Sequence

import numpy as np

from course.scale.designs import ring_rank, tree_rank
from course.scale.events import run
from course.scale.message_costs import Costs
from course.scale.ring import ring_ends
from course.scale.servers import served

SERVED, REDUCED = ("asynchronous", "synchronous"), ("ring", "tree")
DESIGNS = SERVED + REDUCED


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

    - `design`: "asynchronous" or "synchronous", with the parameters on `shards` servers; "ring" or "tree", with none.
    - `compute`: seconds of some real gradients; `seed` draws from them. `nbytes`: bytes of one gradient.
    - `cores`: the number that all processes share; None gives each its own. `rounds`: gradients of each worker, after
      a first one.

    Raises ValueError for another design, or a number below 1.
    """
    if design not in DESIGNS or min(workers, shards, rounds) < 1 or (cores is not None and cores < 1):
        raise ValueError(
            f"simulate(design={design!r}, workers={workers}, shards={shards}, cores={cores}, rounds={rounds}): legal "
            f"is a design of {', '.join(DESIGNS)}, and numbers from 1 up."
        )
    draws, seconds = np.random.default_rng(seed), np.asarray(compute, dtype=float)
    if design in REDUCED:
        ends = _rank_ends(design, costs, draws.choice(seconds, (workers, rounds + 1)), nbytes, cores)
        return float(ends[-1] - ends[0]) / (rounds * workers)
    aggregate = workers if design == "synchronous" else 1
    times = _drawn(draws, seconds)
    processes, programs, applied = served(workers, shards, aggregate, costs, nbytes, times, (rounds + 1) * workers)
    run(processes, cores, costs.wake, costs.switch, programs)
    return (applied[-1] - applied[workers - 1]) / (rounds * workers)


def _rank_ends(design, costs, seconds, nbytes, cores):
    if design == "ring" and cores is None:
        return ring_ends(seconds, costs, nbytes)
    rank, size, ends = (ring_rank if design == "ring" else tree_rank), len(seconds), []
    mine = [ends] + [[] for _ in range(size - 1)]
    run([rank(k, size, costs, nbytes, seconds[k], mine[k]) for k in range(size)], cores, costs.wake, costs.switch)
    return ends


def _drawn(draws: np.random.Generator, seconds: np.ndarray) -> Iterator[float]:
    while True:
        yield from draws.choice(seconds, 1000).tolist()
