"""`make attacks`: every attack and all honest work, each in real sandboxes; a line for each, 1 when one is amiss."""

import sys
import tempfile

import click

from tests.slow.attacks.families.catalogue import ATTACKS
from tests.slow.attacks.peers import cage
from tests.slow.attacks.peers.compare import PAGE, compare, write_page
from tests.slow.attacks.table import marked
from tests.slow.honest.catalogue import HONEST


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", default="", metavar="WORDS", help="Only those with these words in their name.")
@click.option("--peers", is_flag=True, help="First those that apply by nbgrader and otter too, into docs/attacks.md.")
def main(only, peers):
    """Mark every submission of both tables; tell of marks that are undeserved or lost, and of what was touched."""
    if peers:
        _beside_the_peers(only)
    chosen = [(kind, entry) for kind, table in (("attack", ATTACKS), ("honest", HONEST)) for entry in table]
    chosen = [(kind, entry) for kind, entry in chosen if only in entry.name]
    if not chosen:
        raise click.UsageError(f"--only {only!r}: no submission has these words in its name.")
    amiss = 0
    for kind, submission in chosen:
        with tempfile.TemporaryDirectory() as folder:
            outcome = marked(submission, folder)
        amiss += bool(outcome.complaints)
        score = sum(mark.score for mark in outcome.marks.exercises)
        verdict = "AMISS" if outcome.complaints else "ok"
        click.echo(f"{verdict:<6}{kind:<8}{outcome.seconds:6.1f} s {score:5.1f} points  {submission.name}")
        for complaint in outcome.complaints:
            click.echo(f"        {complaint}")
    counts = [sum(kind == other for other, _ in chosen) for kind in ("attack", "honest")]
    click.echo(f"{counts[0]} attacks, {counts[1]} honest submissions: {amiss} amiss")
    sys.exit(bool(amiss))


def _beside_the_peers(only):
    versions = cage.install(click.echo)
    rows = compare(click.echo, only)
    if only:
        click.echo(f"{PAGE} stays as it is: --only tried a part.")
    else:
        write_page(rows, versions)
        click.echo(f"{PAGE} is written anew.")


if __name__ == "__main__":
    main(prog_name="python -m tests.slow.attacks")
