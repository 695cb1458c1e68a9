"""`python -m tests.slow.faults --count 200`: many faults, each drawn from its seed; `--seed 17` runs that one again."""

import signal
import sys
import time

import click

from tests.slow.faults import lanes, report
from tests.slow.faults.catalogue import KINDS
from tests.slow.faults.plan import plan


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seed", "seeds", multiple=True, type=click.IntRange(min=0), help="Only this one; may be given again.")
@click.option("--count", default=200, show_default=True, type=click.IntRange(min=1), help="How many faults.")
@click.option("--first", default=0, show_default=True, type=click.IntRange(min=0), help="The first seed.")
@click.option("--kind", "kind_names", multiple=True, help="Only faults of this kind; may be given again.")
@click.option("--lanes", "lane_count", default=2, show_default=True, type=click.IntRange(1, 16), help="At one time.")
@click.option("--list", "listed", is_flag=True, help="List the kinds and end.")
def main(seeds, count, first, kind_names, lane_count, listed):
    """Break trainings in many ways; end with a table, and with 1 when one hung, was wrong, or left something."""
    if listed:
        for kind in KINDS:
            click.echo(f"{kind.name:<36} {kind.scene}")
        return
    unknown = set(kind_names) - {kind.name for kind in KINDS}
    if unknown:
        raise click.UsageError(f"--kind {sorted(unknown)[0]!r}: see --list for the kinds there are.")
    chosen = seeds or _seeds(first, count, kind_names)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # lanes.run cleans up then
    began, outcomes = time.monotonic(), []

    def hear(outcome):
        outcomes.append(outcome)
        click.echo(report.line(outcome))

    try:
        lanes.run(chosen, KINDS, lane_count, hear)
    finally:  # an interrupt keeps what is known
        click.echo(report.table(sorted(outcomes, key=lambda outcome: outcome.seed), KINDS, time.monotonic() - began))
    sys.exit(any(outcome.failed for outcome in outcomes))


def _seeds(first, count, kind_names):
    seeds, seed = [], first
    while len(seeds) < count:
        if not kind_names or plan(seed, KINDS).kind.name in kind_names:
            seeds.append(seed)
        seed += 1
    return seeds


if __name__ == "__main__":
    main(prog_name="python -m tests.slow.faults")
