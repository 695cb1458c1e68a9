"""What `python -m course pi` prints."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from course.commands.cluster_flags import computing_tasks, executor_of
from course.pi.estimate import check_darts, estimate_pi

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster


def report(
    say: Callable[..., None],
    samples: float | str,
    workers: int,
    seed: int,
    method: str,
    numsamples: int | None = None,
    cluster: "Cluster | None" = None,
) -> None:
    """Say the lines of the report; the darts are thrown by `workers` processes here, or by the tasks of `cluster`.

    `numsamples`: the darts of each worker, in place of `samples`, as the classic program counted them.
    """
    if numsamples is not None:
        samples = numsamples * (workers if cluster is None else len(computing_tasks(cluster)))
    samples, seed = check_darts(samples, seed, method)  # before any process starts
    with executor_of(cluster, workers, say) as executor:
        started = time.perf_counter()
        estimate = estimate_pi(samples, seed, executor, method)
        seconds = time.perf_counter() - started
    say(f"pi = {estimate}")
    say(f"{estimate.inside:,} of {estimate.samples:,} darts inside")
    say(f"{seconds:.3g} s, {estimate.samples / seconds / 1e6:,.0f} million samples/s")
