"""The flags of the commands that have many, and those that commands share."""

import logging
from collections.abc import Callable

import click

from course.commands.as_typed import ROLE
from course.deadlines import TASK_WAITS


def _checked_ports(context, parameter, text):
    """Return `text`, one port or a range of them; BadParameter for another."""
    if text is not None:
        first, _, last = text.partition(":")
        numbers = [int(end) if end.isascii() and end.isdigit() else 0 for end in (first, last or first)]
        if not 1 <= numbers[0] <= numbers[1] <= 65535:
            raise click.BadParameter(f"{text}: give a range of ports from 1 to 65535, as in 4000:4010.")
    return text


def _print_logs(context, parameter, level):
    """Have what the packages' loggers say, from this level on, printed to standard error."""
    if level:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        for package in ("course", "modelserver", "simgpu"):
            logging.getLogger(package).setLevel(level.upper())


#: The cluster, for a command that runs on one or is a task of it; and what its tasks hold and wait for.
HOSTS = (
    click.option("--spec", metavar="FILE", help="The cluster's spec, a TOML or JSON file;"),
    click.option("--ps-hosts", metavar="A:1,B:2", help="instead of a spec: the parameter servers' addresses,"),
    click.option("--worker-hosts", metavar="A:1,B:2", help="the workers',"),
    click.option(
        "--scheduler-hosts", metavar="A:1", help="the scheduler's; else it runs in the first ps, at port + 1000."
    ),
    click.option("--certificate", metavar="FILE", help="The cluster's; beside the spec, or cluster.pem, by default."),
    click.option("--insecure", is_flag=True, help="Plain TCP instead of TLS, on loopback only."),
    click.option("--patience", default=TASK_WAITS, show_default=True, help="Seconds to wait for the others."),
)
JOB_HOSTS = click.option(
    "--job-hosts", metavar="JOB=A:1,B:2", multiple=True, help="Beside --ps-hosts …: those of any other job."
)
SEED = click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
INDEX = click.option(
    "--task-index", "--index", default=0, show_default=True, type=click.IntRange(min=0), help="Which task of the job."
)
_GPUS = click.option("--simulated-gpus", default=0, type=click.IntRange(0, 128), help="Simulated GPUs for each task.")
_SETTINGS = click.option("--settings", type=click.Choice(["tuned", "classic"]), help="For mnist; tuned by default.")
_DATA = click.option("--data", metavar="FILE", help="For mnist: other digits, an .npz file here or at s3://…")
_WORKERS = click.option(
    "--workers", default=2, show_default=True, type=click.IntRange(1, 100), help="Worker processes, here."
)
_WAYS = (
    click.option(
        "--route",
        "routes",
        multiple=True,
        metavar="THERE=HERE",
        help="Find THERE, a HOST:PORT or HOST of the others, at HERE: a tunnel, a forwarded port; again for the next.",
    ),
    click.option(
        "--ports",
        metavar="A:B",
        callback=_checked_ports,
        help="Where a parameter server listens for gradients, such as 4000:4010; any free port by default.",
    ),
    # for a process that one leaves alone: who joined, was lost or restored, and when
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
        callback=_print_logs,
        expose_value=False,
        help="Print the log to standard error, from this level on.",
    ),
)
TUNE = (
    click.option(
        "--problem", default="mnist", show_default=True, help="Or linear, linear-101, yours: MODULE:FUNCTION."
    ),
    _SETTINGS,
    _DATA,
    click.option(
        "--space", multiple=True, metavar="NAME=…", help="LOW:HIGH, LOW:HIGH:log or A,B; again for the next name."
    ),
    click.option("--trials", default=40, show_default=True, type=click.IntRange(min=1), help="Trials, in all."),
    click.option("--steps", type=click.IntRange(min=1), help="Updates of each trial; 300 by default."),
    click.option("--metric", default="loss", show_default=True, help="What the problem validates, such as accuracy."),
    click.option("--direction", default="minimize", show_default=True, type=click.Choice(["minimize", "maximize"])),
    click.option("--search", default="tpe", show_default=True, type=click.Choice(["tpe", "random", "grid"])),
    click.option("--pruning/--no-pruning", default=True, show_default=True, help="Stop the worst trials early."),
    SEED,
    click.option("--journal", metavar="FILE", help="Keep every change here (or s3://…); go on from what is there."),
    _WORKERS,
)
TRAIN = (
    ROLE,
    click.option(
        "--problem", default="linear", show_default=True, help="Or linear-101, mnist, yours: MODULE:FUNCTION."
    ),
    _SETTINGS,
    _DATA,
    click.option("--mode", default="async", show_default=True, type=click.Choice(["async", "sync"])),
    click.option(
        "--steps", "--train-steps", type=click.IntRange(min=1), help="Updates, in all; the problem's own by default."
    ),
    click.option(
        "--epochs",
        "--training-epochs",
        type=click.IntRange(min=1),
        help="Instead: passes of each worker over the data.",
    ),
    click.option("--optimizer", type=click.Choice(["sgd", "adagrad", "adam"]), help="The problem's own by default."),
    click.option("--learning-rate", type=float, help="The problem's own by default."),
    SEED,
    click.option("--max-staleness", type=click.IntRange(min=0), help="async: drop gradients older than this, updates."),
    click.option("--aggregate", type=click.IntRange(min=1), help="sync: gradients in an update; the workers' number."),
    click.option(
        "--checkpoint-dir", "--output-dir", metavar="DIR", help="Save here (or s3://…); go on from what is there."
    ),
    click.option(
        "--save-model-secs",
        type=click.FloatRange(min=0, min_open=True),
        help="Seconds between two checkpoints; 10 by default.",
    ),
    click.option("--resume/--no-resume", default=True, show_default=True, help="Go on from a checkpoint, or anew."),
    click.option(
        "--validate",
        is_flag=False,
        flag_value=100,
        metavar="[EVERY]",
        type=click.IntRange(min=1),
        help="Say how good the parameters are, every so many updates; 100 without a number.",
    ),
    click.option(
        "--steps-to-validate",
        metavar="EVERY",
        type=click.IntRange(min=1),
        help="Say step, parameters and loss, every so many updates; each worker of its own.",
    ),
    click.option("--summaries", "--logdir", metavar="DIR", help="Write there what `tensorboard --logdir DIR` shows."),
    click.option(
        "--summaries-of",
        default="chief",
        show_default=True,
        type=click.Choice(["chief", "all"]),
        help="all: each role writes an event file of its own too, in DIR/worker_0, DIR/ps_0, ….",
    ),
    click.option("--device", metavar="/gpu:0", help="What each worker computes on, of its own task; its CPU if none."),
    _GPUS,
    _WORKERS,
    click.option("--ps", default=1, show_default=True, type=click.IntRange(1, 100), help="Parameter servers, here."),
    click.option("--job-name", metavar="ps|worker", help="Play one role of a training with many; it needs the hosts."),
    INDEX,
    *HOSTS,
    *_WAYS,
)
TASK = (
    ROLE,
    click.option("--job", "--job-name", help="Its job, unless the spec has only one; `scheduler` runs one of its own."),
    INDEX,
    *HOSTS,
    JOB_HOSTS,
    _GPUS,
    *_WAYS,
    click.option("--deployed", is_flag=True, hidden=True, help="For `deploy`: an order comes by standard input."),
)


def flags(options: tuple[Callable, ...]) -> Callable[[Callable], Callable]:
    """Return a decorator that adds these `click.option`s to a command, in their order."""

    def with_flags(command):
        for option in reversed(options):
            command = option(command)
        return command

    return with_flags
