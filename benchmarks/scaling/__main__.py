"""`python -m benchmarks.scaling`: small trainings, what the simulation makes of them, and how time grows with sizes."""

import json
import os
from contextlib import suppress
from pathlib import Path

import click

from benchmarks.scaling import growth
from benchmarks.scaling.fitting import predicted, recording


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Of each small training.")
@click.option(
    "--record", type=click.Path(path_type=Path), metavar="FILE", help="Write course/scale/recorded.json anew."
)
@click.option("--growth", "only_growth", is_flag=True, help="Only how time grows with sizes (half a minute).")
def main(repeats, record, only_growth):
    """Say how time grows, train small (4 minutes), fit the simulation to 1, 2 and 4 workers, predict the others.

    The trainings run before all else on this machine where the system allows that (Linux, to root).
    """
    for line in growth.lines():
        click.echo(line)
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # and so all processes that they start
    for line in growth.lines_of_trainings():
        click.echo(line)
    if not only_growth:
        _predict(repeats, record)


def _predict(repeats, record):
    document = recording(repeats)
    for family, costs in document["costs"].items():
        click.echo(f"{family}: " + ", ".join(f"{name} {1e6 * cost:.4g} µs" for name, cost in costs.items()))
    ratios = []
    for run, seconds in predicted(document):
        ratios.append(seconds / run.seconds)
        what = f"{run.design}, {run.workers} workers, {run.shards} shards, {run.nbytes / 1e6:.2f} MB"
        click.echo(
            f"{what:<52}{1e6 * run.seconds:>8.0f} µs a gradient, simulated {1e6 * seconds:>6.0f}: {ratios[-1]:.2f}"
        )
    near = sum(abs(ratio - 1) <= 0.15 for ratio in ratios)
    click.echo(f"{near} of {len(ratios)} within 15 %; from {min(ratios):.2f} to {max(ratios):.2f} times the measured")
    if record:
        record.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
