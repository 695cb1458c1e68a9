"""`python -m tests.slow.crowd`: many workers on few cores train and add up; nothing may run out of time."""

import time

import click
import psutil

from benchmarks.scaling.memory import proportional, tree
from course.cluster import local_cluster
from course.replicas import run_ranks
from course.training import mnist, train


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--workers", default=32, show_default=True, type=click.IntRange(1, 100), help="How many, a process each.")
@click.option("--gradients", default=60, show_default=True, type=click.IntRange(1), help="Of each worker, each way.")
def main(workers, gradients):
    """Train the digits on WORKERS processes, both ways, then all-reduce; end with 1 when one is lost or a sum wrong."""
    started, problem, lost = time.perf_counter(), mnist(), {}
    with local_cluster(ps=1, worker=workers) as cluster:
        click.echo(f"{workers} workers on {psutil.cpu_count()} cores; started in {time.perf_counter() - started:.1f} s")
        for mode, steps in (("async", gradients * workers), ("sync", gradients)):
            began = time.perf_counter()
            result = train(problem, cluster, optimizer=mnist.TUNED.made(), mode=mode, total_steps=steps)
            waited = time.perf_counter() - began - result.seconds
            rate = len(result.history) / result.seconds
            click.echo(
                f"{mode}: {waited:.1f} s until all had joined, {rate:,.0f} gradients a second, {result.degraded} short"
            )
            lost |= result.lost
        began = time.perf_counter()
        sums = run_ranks(_added_up, cluster)
        click.echo(
            f"all-reduce: {time.perf_counter() - began:.1f} s for ten, sums right: {set(sums) == {float(workers)}}"
        )
        click.echo(f"memory: {proportional(tree()) / 1e6:,.0f} MB, shared pages counted once")
    for worker, why in lost.items():
        click.echo(f"lost: worker {worker}: {why}")
    raise SystemExit(bool(lost) or set(sums) != {float(workers)})


def _added_up(rank, size):
    import torch

    for _ in range(10):
        values = torch.ones(79_510)
        torch.distributed.all_reduce(values)
    return values.max().item()


if __name__ == "__main__":
    main()
