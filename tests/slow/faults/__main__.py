"""`python -m tests.slow.faults --count 200`: many faults, each drawn from its seed; `--seed 17` runs that one again."""

import signal
import sys
import time

import click

from tests.slow.faults import lanes, report
from tests.slow.faults.catalogue import KINDS


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seed", "seeds", multiple=True, type=click.IntRange(min=0), help="Only this one; may be given again.")
@click.option("--count", default=200, show_default=True, type=click.IntRange(min=1), help="How many faults.")
@click.option("--lanes", "lane_count", default=2, show_default=True, type=click.IntRange(1, 16), help="At one time.")
def main(seeds, count, lane_count):
    """Break trainings in many ways; end with a table, and with 1 when one hung, was wrong, or left something."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # lanes.run cleans up then
    began, outcomes = time.monotonic(), []

    def hear(outcome):
        outcomes.append(outcome)
        click.echo(report.line(outcome))

    try:
        lanes.run(seeds or range(count), KINDS, lane_count, hear)
    finally:  # an interrupt keeps what is known
        click.echo(report.table(sorted(outcomes, key=lambda outcome: outcome.seed), KINDS, time.monotonic() - began))
    sys.exit(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    main(prog_name="python -m tests.slow.faults")
