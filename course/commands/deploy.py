"""`python -m course deploy list | stop`: which clusters of yours are deployed, and the end of those you forgot."""

import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from course.deploy.ledger import Entry

_CLIENT = {"alive": "its client runs", "gone": "its client is gone", "elsewhere": "its client runs on another host"}

_NOTES = 3  # the last ones
_ENDED = "Where a login node ends long processes, start them inside a job, by `srun --pty` or sbatch."


@click.group()
def deploy() -> None:
    """List the clusters of yours that `deploy` started on other machines, or end them."""


@deploy.command("list")
def deploy_list() -> None:
    """List what is deployed, whether the process that deployed it lives, and what has ended because that did not."""
    from course.deploy.ledger import entries, notes  # loads Dask

    deployed = entries()
    if not deployed:
        click.echo("nothing of yours is deployed")
    for entry in deployed:
        jobs = Counter(task.split("/")[1].removeprefix("job:") for task in entry.tasks)
        counts = ", ".join(f"{job}={count}" for job, count in jobs.items())
        minutes = (time.time() - entry.began) / 60
        client = f"{_CLIENT[entry.client]} (process {entry.pid} on {entry.host})"
        click.echo(f"{entry.name}  {entry.kind}  {counts}  for {minutes:.0f} min; {client}")
    if notes().exists():
        ended = notes().read_text(encoding="utf-8").splitlines()[-_NOTES:]
        click.echo("\n".join([*ended, _ENDED]))


@deploy.command("stop")
@click.argument("names", nargs=-1)
def deploy_stop(names: tuple[str, ...]) -> None:
    """End the clusters NAMES, all of yours without one, and forget what has ended."""
    from course.deploy.ledger import entries, notes

    deployed = {entry.name: entry for entry in entries()}
    for name in names:
        if name not in deployed:
            raise click.UsageError(f"there is no {name!r}; `python -m course deploy list` names what there is")
    for name in names or deployed:
        click.echo(_stopped(deployed[name]))
    if not deployed:
        click.echo("nothing of yours is deployed")
    notes().unlink(missing_ok=True)


def _stopped(entry: "Entry") -> str:
    from course.deploy.clouds.cloud_runtime import LEFTOVER_ENDS  # load Dask
    from course.deploy.slurm_command import SLURM_ANSWERS

    entry.remove()  # its client sees that, and starts nothing anew
    problems = []
    patience = SLURM_ANSWERS if entry.kind == "slurm" else LEFTOVER_ENDS
    for command in entry.leftovers:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=patience)
        except (OSError, subprocess.TimeoutExpired) as error:
            problems.append(str(error))
            continue
        problems += [done.stderr.strip()] if done.returncode else []
    if problems and entry.client != "alive":
        entry.write()  # it may run on, and cost: say `stop` again
    return f"{entry.name}: {'; '.join(problems) or 'ended'}"
