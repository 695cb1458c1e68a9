"""`make fuzz`: random calls of torch's functions with odd arguments, in processes that must come to their own end."""

import time

import click

from tests.slow.conformance.fuzz.run import fuzz


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=300_000, show_default=True, help="Calls.")
@click.option("--seed", default=1, show_default=True, help="Of all calls; a call is known by seed and number.")
@click.option("--first", default=0, show_default=True, help="Number of the first call.")
@click.option("--batch", default=10_000, show_default=True, help="Calls of one process.")
def main(count, seed, first, batch):
    """Say what was found; exit with 1 when the interpreter crashed or hung, or simgpu's own code failed."""
    began = time.monotonic()
    finds = fuzz(seed, first, count, batch, click.echo)
    click.echo(
        f"{count} calls in {time.monotonic() - began:.0f} s: {dict(finds.counts)}; {len(finds.bad)} bad, "
        f"{len(finds.torchs)} in which torch fails alike without simgpu"
    )
    raise SystemExit(1 if finds.bad else 0)


if __name__ == "__main__":
    main(prog_name="python -m tests.slow.conformance.fuzz")
