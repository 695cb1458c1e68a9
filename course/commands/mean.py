"""`python -m course mean`: the mean of random numbers, worked out slice by slice."""

import time
from typing import TYPE_CHECKING

import click

from course.commands.cluster_flags import computing_tasks, executor_of
from course.commands.command_run import on_cluster, say
from course.commands.flags import SEED

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster

_LARGEST = 10**8  # 800 MB of numbers


@click.command()
@click.option("--samples", default=1_000_000, show_default=True, help="How many numbers.")
@click.option("--parts", type=click.IntRange(min=1), help="Slices; one for each process or task by default.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that add up.")
@SEED
@on_cluster
def mean(samples: int, parts: int | None, workers: int, seed: int, cluster: "Cluster | None") -> None:
    """Work out the mean of random numbers in slices; print it beside the mean of all at once."""
    import numpy as np

    from course import mapreduce

    if not 1 <= samples <= _LARGEST:
        raise ValueError(f"--samples {samples}: give a whole number from 1 to {_LARGEST:,}.")
    numbers = np.random.default_rng(seed).normal(100, 1, samples)
    parts = parts or (workers if cluster is None else len(computing_tasks(cluster)))
    with executor_of(cluster, workers, say) as executor:
        started = time.perf_counter()
        value = mapreduce.mean(numbers, parts, executor)
        seconds = time.perf_counter() - started
    say(f"mean = {value:.12g} of {samples:,} numbers in {parts} slices; at once {numbers.mean():.12g}")
    say(f"{seconds:.3g} s, {numbers.nbytes / 1e6:,.1f} MB of numbers")
