"""`make torches`: simgpu's own tests on the oldest torch that it is for and on the newest that can be had."""

import shutil
import sys
import time

import click

import install_pip
from tests.slow.torches.environments import OLDEST_TORCH, NotHad, environment, folder_of, newest
from tests.slow.torches.runs import Run, lines, run

NEWEST = "(the newest)"  # where it isn't known
PATIENCE = 1500  # seconds; on a slow network CI has other tests to come to


def version(context, option, text):
    """Return the `text` if it is a version of torch, or ""; raises click.BadParameter."""
    try:
        return text and folder_of(text) and text
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--torch", default="", callback=version, help='That alone, as "2.14.*".  [default: the oldest, the newest]'
)
@click.option("--quick", is_flag=True, help="What CI runs: without the tests that start many processes.")
@click.option("--lanes", default=2, show_default=True, type=click.IntRange(1), help="Files that are tested at a time.")
@click.option("--remove", is_flag=True, help="Remove each environment when its tests are done: 5 GB each.")
def main(torch, quick, lanes, remove):
    """End with 1 where a test fails; a torch that can't be had is said, and is no failure."""
    runs, began = [], time.monotonic()
    for wanted in [torch] if torch else [OLDEST_TORCH, ""]:
        if quick and time.monotonic() - began > PATIENCE:
            runs.append(Run(wanted or NEWEST, missing=f"Of the quick form none is begun after {PATIENCE} s."))
            break
        runs.append(tried(wanted, quick, lanes))
        if remove and runs[-1].torch != NEWEST:
            shutil.rmtree(folder_of(runs[-1].torch), ignore_errors=True)
    click.echo("\n".join(["", *(line for finished in runs for line in lines(finished))]))
    sys.exit(any(finished.failed for finished in runs))


def tried(wanted: str, quick: bool, lanes: int) -> Run:
    """Return the `Run` of the torch `wanted`, of the newest for ""."""
    try:
        wanted = wanted or newest(say)
        python = environment(wanted, say)
    except NotHad as problem:
        say(str(problem))
        return Run(wanted or NEWEST, missing=str(problem))
    except install_pip.PipFailed as problem:
        return Run(wanted, wrong=str(problem))
    return run(python, wanted, quick, lanes)


def say(text):
    click.echo(f"[torches] {text}")


if __name__ == "__main__":
    main()
