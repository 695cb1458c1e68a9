"""`python -m tests.slow.distance`: rounds of training over lines of 0 to 100 ms; none may be quicker than can be.

With `--record` the figures, and the chapter's cell on Slurm and over SSH, go to the file that chapter 09 draws from.
"""

import datetime
import json
import os
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click
import torch

from course import estimate_pi, training
from course.cluster import local_cluster
from course.deploy import deploy
from course.distance import recorded
from tests.course.deploy.slurm_here import slurm_here
from tests.course.deploy.sshd_here import sshd_here
from tests.helpers.namespaces import missing
from tests.slow.distance.across import across
from tests.slow.distance.rounds import ROUNDS, WORKERS, least, ring, row, trained

DELAYS = (0.0, 0.005, 0.010, 0.025, 0.050, 0.100)
LIMIT, LIMITED = 4e6, (0.005, 0.050)  # bytes a second, and at which delays


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", type=click.Choice(["sweep", "hosts", "elsewhere"]), nargs=-1)
@click.option("--record", metavar="HARDWARE", help='Write the figures down, as of this hardware: "AMD EPYC, 2 cores".')
def main(parts, record):
    """Measure a round of each design at each delay; end with 1 when one is quicker than its way allows.

    "sweep" is on one host, "hosts" on two (network namespaces): these two by default. "elsewhere" runs the chapter's
    cell on a local cluster, on a Slurm and over SSH, both started here.
    """
    measured = {"sweep": sweep, "hosts": hosts, "elsewhere": everywhere}
    wrong = []
    for part in parts or ("sweep", "hosts"):
        rows = measured[part]()
        if record and rows:
            path = Path(recorded.__file__).with_name("recorded.json")
            document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            document[part] = {"hardware": record, "date": datetime.date.today().isoformat(), "rows": rows}
            path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        if part != "elsewhere":
            wrong += [row for row in rows if row["seconds"] < least(row["design"], WORKERS, row["delay"])]
    click.echo(f"quicker than can be: {wrong or 'none'}")
    raise SystemExit(bool(wrong))


def sweep():
    """Return a row for each design, delay and limit."""
    rows = []
    with local_cluster(ps=2, worker=WORKERS) as two_shards, local_cluster(ps=1, worker=WORKERS) as one_shard:
        designs = {
            "asynchronous": partial(trained, one_shard, "async", WORKERS, ROUNDS),
            "synchronous": partial(trained, one_shard, "sync", WORKERS, ROUNDS),
            "shards": partial(trained, two_shards, "sync", WORKERS, ROUNDS),
            "ring": partial(ring, WORKERS, ROUNDS),
        }
        for delay, bandwidth in [*((delay, None) for delay in DELAYS), *((delay, LIMIT) for delay in LIMITED)]:
            for design, run in designs.items():
                rows.append(printed(row(design, delay, bandwidth, run(delay, bandwidth))))
    return rows


def hosts():
    """Return a row for each delay, of server and workers on two hosts; none, aloud, where there can be no two."""
    if reason := missing():
        click.echo(f"NOT DONE HERE, two hosts can't be made: {reason}")
        return []
    return [printed(figure, "two hosts") for figure in across(WORKERS, ROUNDS, DELAYS)]


def printed(figure, where="one host"):
    """Print a figure, and return it."""
    limit = f"{figure['bandwidth']:,.0f} bytes/s" if figure["bandwidth"] else "no limit"
    ends = f"{where}, {limit:17} {1e3 * figure['seconds']:7.1f} ms a round"
    click.echo(f"{figure['design']:12} {1e3 * figure['delay']:5.0f} ms, {ends}")
    return figure


def everywhere():
    """Return the chapter's cell on three systems, as `course.distance.recorded.Elsewhere` has it."""
    estimate_pi(1_000_000)  # this process has imported and compiled what it needs before the first of them
    with local_cluster(ps=1, worker=2):
        pass
    with ExitStack() as opened:
        os.environ["XDG_STATE_HOME"] = opened.enter_context(tempfile.TemporaryDirectory())
        slurm, sshd = opened.enter_context(slurm_here()), opened.enter_context(sshd_here())
        os.environ["SLURM_CONF"] = str(slurm.configuration)
        opened.callback(os.environ.pop, "SLURM_CONF")
        jobs = {"ps": 1, "worker": 2}
        systems = {
            "local cluster": partial(local_cluster, **jobs),
            "Slurm of one node": partial(deploy, "slurm", **jobs),
            "SSH to one host": partial(deploy, "ssh", **sshd.options, **jobs),
        }
        return [{"system": name, **the_cell(start)} for name, start in systems.items()]


def the_cell(start):
    """Run the chapter's cell on the cluster that `start()` gives; return its seconds and its results."""
    began = time.perf_counter()
    with start() as cluster:
        joined = time.perf_counter()
        estimate = estimate_pi(1_000_000, executor=cluster.executor)
        counted = time.perf_counter()
        problem = training.linear_regression()
        sgd = partial(torch.optim.SGD, lr=0.02)
        result = training.train(problem, cluster, optimizer=sgd, total_steps=1000)
        ended = time.perf_counter()
    best = problem.least_squares()
    slope = abs(result.parameters["slope"].item() - best.slope) / best.slope_error
    intercept = abs(result.parameters["intercept"].item() - best.intercept) / best.intercept_error
    seconds = {"start": joined - began, "first_pi": counted - joined, "first_training": ended - counted}
    results = {"pi": estimate.value, "off": round(max(slope, intercept), 3)}
    return {name: round(value, 2) for name, value in seconds.items()} | results


if __name__ == "__main__":
    main()
