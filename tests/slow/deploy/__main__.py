"""`make storm`: a Slurm of another configuration fails at random under a training; clients are killed."""

import functools
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import torch

from course import linear_regression, train
from course.deadlines import NOTHING_LEFT
from course.deploy import deploy
from course.training.problems.paced import paced
from tests.course.deploy.slurm_here import OTHER, slurm_here
from tests.slow.deploy.storm import home, leftovers, storm

_CLIENT = """
from course.deploy import deploy
cluster = deploy("slurm", ps=1, worker=2, cores={cores}, interface="lo")
while True:
    cluster.executor.submit(pow, 2, 10).result()
"""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=20, show_default=True, help="Blows that fall on jobs, nodes and daemons.")
@click.option("--clients", default=6, show_default=True, help="Clients killed, each at a random moment.")
@click.option("--seed", default=1, show_default=True, help="Of what is drawn.")
@click.option("--walltime/--no-walltime", default=True, show_default=True, help="Train past a walltime (3 minutes).")
def main(count, clients, seed, walltime):
    """Say what was seen; exit with 1 where something was lost, or left behind."""
    wrong = []
    with slurm_here(nodes=2, changes=OTHER) as slurm, tempfile.TemporaryDirectory() as folder:
        if count:
            wrong += _stormy(slurm, Path(folder) / "storm", seed, count)
        if walltime:
            wrong += _past_walltime(slurm, Path(folder) / "walltime")
        draw = random.Random(seed)
        for number in range(clients):
            wrong += _killed(slurm, Path(folder) / f"client{number}", draw)
    for line in wrong:
        click.echo(f"WRONG: {line}")
    raise SystemExit(bool(wrong))


def _stormy(slurm, folder, seed, count):
    began = time.monotonic()
    options = {"ps": 1, "worker": 3, "leave_before": 20, "walltime": "00:02:00"}
    found = storm(slurm, folder, seed, count, options, click.echo)
    click.echo(
        f"{len(found.blows)} blows in {time.monotonic() - began:.0f} s: {found.steps} steps in {found.incarnations} "
        f"incarnations, train called again {found.again} times; wrong: {found.wrong}"
    )
    return found.wrong


def _past_walltime(slurm, folder):
    """Train without a folder for checkpoints for longer than a job may last: nothing is lost, or train would raise."""
    with home(slurm, folder):
        limits = {"walltime": "00:02:00", "leave_before": 30}
        with deploy("slurm", ps=1, worker=1, interface="lo", say=lambda *_, **__: None, **limits) as cluster:
            optimizer = functools.partial(torch.optim.SGD, lr=0.02)
            began = time.monotonic()
            result = train(paced(linear_regression(), 0.05), cluster, optimizer=optimizer, total_steps=3_600)
        told = [event for event in result.events if event.what == "ps lost"]
        click.echo(
            f"{time.monotonic() - began:.0f} s with walltimes of two minutes: {len(told)} parameter servers left"
        )
        wrong = [f"{event.reason} at {event.step}" for event in told if "told it to end" not in event.reason]
        return [*wrong, *([] if told else ["no walltime was over"]), *leftovers(slurm, folder)]


def _killed(slurm, folder, draw):
    after, pending = draw.uniform(0.5, 12), draw.random() < 0.5
    names = {"XDG_STATE_HOME": str(folder), "SLURM_CONF": str(slurm.configuration)}
    cores = 6 if pending else 1  # of eight on each of two nodes: the third job waits
    command = [sys.executable, "-c", _CLIENT.format(cores=cores)]
    process = subprocess.Popen(command, env=os.environ | names, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after)
    jobs = slurm.jobs()
    process.kill()
    process.wait(60)
    began = time.monotonic()
    left = leftovers(slurm, folder, NOTHING_LEFT)
    states = ", ".join(sorted(state for state, _ in jobs.values())) or "no job"
    click.echo(
        f"a client killed after {after:.1f} s ({states}): gone in {time.monotonic() - began:.1f} s; left: {left}"
    )
    return left


if __name__ == "__main__":
    main()
