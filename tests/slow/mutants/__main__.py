"""`python -m tests.slow.mutants life`: small bugs are planted in a room, one at a time; its tests ought to see them."""

import random
import signal
import sys
from pathlib import Path

import click

from tests.slow.mutants.mutations import mutations_of
from tests.slow.mutants.rooms import ROOMS
from tests.slow.mutants.trials import Trials

ROOT = Path(__file__).resolve().parents[3]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("room", type=click.Choice(sorted(ROOMS)))
@click.option(
    "--count", default=100, show_default=True, type=click.IntRange(0), help="How many bugs; 0: all there are."
)
@click.option("--seed", default=0, show_default=True, help="Which of them are drawn.")
@click.option("--wanted", default=90, show_default=True, type=click.IntRange(0, 100), help="Per cent to be seen.")
def main(room, count, seed, wanted):
    """Plant bugs in ROOM; end with the share that its tests see, and with 1 when it is less than wanted."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the copy goes then too
    every = [mutation for file in ROOMS[room].files(ROOT) for mutation in mutations_of(ROOT, file)]
    chosen = random.Random(seed).sample(every, min(count or len(every), len(every)))
    with Trials(ROOT, ROOMS[room]) as trials:
        first = trials.without_a_bug()
        if first.state != "survived":
            raise click.ClickException(f"the tests of {room} fail on the code as it is: {first.by}")
        click.echo(f"{room}: {len(chosen)} of {len(every)} bugs; the tests take {first.seconds:.0f} s without one")
        seen = 0
        for number, mutation in enumerate(chosen, 1):
            verdict = trials.with_bug(mutation)
            seen += verdict.state != "survived"
            said = f"{number}/{len(chosen)} {verdict.state} after {verdict.seconds:.0f} s"
            if verdict.state == "killed":
                click.echo(f"{said}: {mutation.file}:{mutation.line}, by {verdict.by[:150]}")
            else:
                click.echo(f"{said}: {mutation.told(trials.text(mutation))}")
    share = 100 * seen / max(1, len(chosen))
    click.echo(f"{room}: {seen} of {len(chosen)} bugs seen, {share:.0f} %; {wanted} % are wanted")
    sys.exit(share < wanted)


if __name__ == "__main__":
    main()
