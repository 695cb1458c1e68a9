"""`make serving`: a server under load while versions change and workers die, 10,000 odd requests, a soak of minutes."""

import statistics
import tempfile
import time
from pathlib import Path

import click
import psutil

from modelserver.tests.served import export_digits, serving
from modelserver.tests.slow.churn import Callers, churn
from modelserver.tests.slow.fuzz import binary_part, schema_requests


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--changes", default=50, show_default=True, help="Changes of the version under load.")
@click.option("--kills", default=10, show_default=True, help="Workers killed meanwhile.")
@click.option("--requests", default=10_000, show_default=True, help="Requests made by Schemathesis and Hypothesis.")
@click.option("--minutes", default=0.0, show_default=True, help="Of soak: load without a pause, memory watched.")
def main(changes, kills, requests, minutes):
    """Say what was seen; exit with 1 when a request failed or memory grew."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "models"
        export_digits(directory, seed=1)
        with serving(directory, "--workers", 2) as served:
            well = [
                not changes or _churned(served, directory, changes, kills),
                not requests or _odd(served, requests),
                not minutes or _soaked(served, minutes),
            ]
    raise SystemExit(0 if all(well) else 1)


def _churned(served, directory, changes, kills):
    began = time.monotonic()
    outcome = churn(served, directory, changes, kills, say=click.echo)
    seconds = time.monotonic() - began
    click.echo(
        f"{changes} changes, {kills} kills: {outcome.answered} requests in {seconds:.0f} s by {len(outcome.versions)} "
        f"versions, {len(outcome.failed)} failed {outcome.failed[:3]}"
    )
    return not outcome.failed


def _odd(served, requests):
    sent = schema_requests(served.url, requests // 2)
    statuses = binary_part(served.url, "digits", requests - sent)  # few requests differ where there is no parameter
    click.echo(f"{sent} requests by Schemathesis; with binary parts, by status: {statuses}; no 500, and it is up")
    return served.process.poll() is None


def _soaked(served, minutes):
    sizes, ends = [], time.monotonic() + 60 * minutes
    with Callers(served.url) as callers:
        while time.monotonic() < ends:
            time.sleep(min(5.0, 6 * minutes))
            every = [psutil.Process(served.process.pid), *served.workers()]
            sizes.append(sum(process.memory_info().rss for process in every) / 1e6)
    third = len(sizes) // 3
    middle, last = statistics.median(sizes[third : 2 * third]), statistics.median(sizes[2 * third :])
    failed = callers.outcome.failed
    click.echo(f"{minutes:g} minutes: {callers.outcome.answered} requests, {len(failed)} failed {failed[:3]}; memory")
    click.echo(f"{middle:.1f} MB in the middle third, {last:.1f} MB in the last")
    return not failed and last <= 1.03 * middle


if __name__ == "__main__":
    main(prog_name="python -m modelserver.tests.slow")
