"""`python -m benchmarks.scaling`: small trainings, what the simulation makes of them, and how time grows with sizes."""

import json
from pathlib import Path

import click

from benchmarks.scaling import growth
from benchmarks.scaling.fitting import predicted, recording


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Of each small training.")
@click.option(
    "--record", type=click.Path(path_type=Path), metavar="FILE", help="Write course/scale/recorded.json anew."
)
def main(repeats, record):
    """Train small (4 minutes), fit the simulation's costs to 1, 2 and 4 workers, and predict the others."""
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
    for line in growth.lines():
        click.echo(line)
    if record:
        record.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
