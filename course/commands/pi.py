"""`python -m course pi`: darts, thrown by one process or many."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from course.commands.cluster_flags import computing_tasks, executor_of
from course.commands.command_run import on_cluster, say
from course.commands.flags import SEED

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster


_METHODS = click.Choice(["pseudo", "philox", "sobol", "stratified"])  # course.pi.METHODS, without loading numpy


@click.command()
@click.option("--samples", default="1e7", show_default=True, help="How many darts; 1e9 is a number too.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that throw.")
@SEED
@click.option("--method", default="pseudo", show_default=True, type=_METHODS)
@click.option("--numsamples", type=click.IntRange(min=1), help="Darts of each worker, in place of --samples.")
@on_cluster
def pi(samples: str, workers: int, seed: int, method: str, numsamples: int | None, cluster: "Cluster | None") -> None:
    """Estimate pi by throwing darts; print it, its standard error, the seconds and the samples a second."""
    from course.pi.estimate import check_darts, estimate_pi

    number: float | str = samples
    with suppress(ValueError):  # `check_darts` refuses a text that is no number, with the legal form
        number = int(samples) if samples.isdigit() else float(samples)  # a float has 53 bits
    if numsamples is not None:
        number = numsamples * (workers if cluster is None else len(computing_tasks(cluster)))
    darts, seed = check_darts(number, seed, method)  # before any process starts
    with executor_of(cluster, workers, say) as executor:
        started = time.perf_counter()
        estimate = estimate_pi(darts, seed, executor, method)
        seconds = time.perf_counter() - started
    say(f"pi = {estimate}")
    say(f"{estimate.inside:,} of {estimate.samples:,} darts inside")
    say(f"{seconds:.3g} s, {estimate.samples / seconds / 1e6:,.0f} million samples/s")
