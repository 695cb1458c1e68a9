"""A cluster on a Slurm whose jobs, nodes and daemons fail at random, drawn from a seed, while it trains."""

import functools
import os
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from course import linear_regression, train
from course.deploy import deploy
from course.training import Hook, TrainingError
from course.training.problems.paced import paced

SGD = functools.partial(torch.optim.SGD, lr=0.02)


def _cancel(slurm, cluster, draw):
    """Cancel a job, whatever it does."""
    if jobs := sorted(slurm.jobs()):
        slurm.run("scancel", draw.choice(jobs), check=False)


def _kill(slurm, cluster, draw):
    """Kill a task's process."""
    cluster.kill(draw.choice(cluster.tasks))


def _freeze(slurm, cluster, draw):
    """Stop a task's process."""
    cluster.freeze(draw.choice(cluster.tasks))


def _drain(slurm, cluster, draw):
    """Let a node take no job for a while, and cancel a job meanwhile."""
    node = draw.choice(["n0", "n1"])
    slurm.node("drain", node)
    _cancel(slurm, cluster, draw)
    time.sleep(draw.uniform(1, 4))
    slurm.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)  # no error where it is up again


def _slurmd(slurm, cluster, draw):
    """Kill a node's daemon, and start it again after a while."""
    _down(slurm, draw.choice(["n0", "n1"]), draw.uniform(0, 4))


def _slurmctld(slurm, cluster, draw):
    """Kill the controller, and start it again after a while."""
    _down(slurm, "slurmctld", draw.uniform(0, 4))


def _down(slurm, name, seconds):
    slurm.kill(name)
    time.sleep(seconds)
    slurm.start(name)


#: name -> what it does to (slurm, cluster, draw)
BLOWS = {blow.__name__[1:]: blow for blow in (_cancel, _kill, _freeze, _drain, _slurmd, _slurmctld)}


@dataclass
class Outcome:
    """What became of a training in a storm; `wrong`: what must not have been."""

    blows: list[str] = field(default_factory=list)
    steps: int = 0
    incarnations: int = 0
    again: int = 0  # times that `train` had to be called again, as it said
    wrong: list[str] = field(default_factory=list)


class _Until(Hook):
    """Stops the training when `over` is set."""

    def __init__(self, over):
        self._over = over

    def after_run(self, session, step):
        if self._over.is_set():
            session.request_stop("the storm is over")


@contextmanager
def home(slurm, folder):
    """Within the `with`, this process's commands find `slurm`, and its ledger is in `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(slurm.configuration))
        patch.setenv("PATH", os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield


def storm(slurm, folder, seed, blows, options, say=print, pauses=(0.5, 4)):
    """Train on `deploy("slurm", **options)` while `blows`, a number or a list of names, fall; return `Outcome`.

    `pauses`: between which seconds the pause before a blow lies.
    """
    draw, over, outcome = random.Random(seed), threading.Event(), Outcome()
    names = blows if isinstance(blows, list) else [draw.choice(sorted(BLOWS)) for _ in range(blows)]
    with home(slurm, folder / "state"):
        with deploy("slurm", interface="lo", say=lambda line, **_: say(f"    {line}"), **options) as cluster:
            strikes = threading.Thread(target=_strike, args=(slurm, cluster, draw, names, pauses, over, outcome, say))
            strikes.start()
            try:
                _train(cluster, folder / "checkpoints", over, outcome, say)
                strikes.join()
                _comes_back(cluster, outcome)
            except RuntimeError as error:  # the cluster gave up, or training did
                outcome.wrong.append(str(error))
                strikes.join()
        outcome.wrong += leftovers(slurm, folder / "state")
    return outcome


def _strike(slurm, cluster, draw, names, pauses, over, outcome, say):
    try:
        for name in names:
            time.sleep(draw.uniform(*pauses))
            say(f"  {name}")
            outcome.blows.append(name)
            BLOWS[name](slurm, cluster, draw)
        _comes_back(cluster, outcome)
        time.sleep(pauses[1] / 2)  # a few steps more
    except Exception as error:  # of this thread: the caller is to hear of it
        outcome.wrong.append(f"{type(error).__name__}: {error}")
    finally:
        over.set()


def _train(cluster, folder, over, outcome, say):
    while True:
        try:
            hooks = [_Until(over)]
            result = train(paced(linear_regression()), cluster, optimizer=SGD, hooks=hooks, checkpoint_dir=folder)
        except TrainingError as error:
            outcome.again += 1
            say(f"  train again: {str(error)[:160]}")
            if outcome.again > 5:
                raise
            continue
        outcome.steps, outcome.incarnations = result.version, result.incarnations
        steps = [int(step) for step in result.history["step"]]
        if steps != list(range(steps[0], result.version + 1)):
            outcome.wrong.append("the history has gaps")
        return


def _comes_back(cluster, outcome, patience=90):
    deadline = time.monotonic() + patience
    while cluster.missing():
        if time.monotonic() > deadline:
            outcome.wrong.append(f"{cluster.missing()} did not come back")
            return
        time.sleep(0.1)


def tasks_of(slurm):
    """Return the processes of tasks that this Slurm's jobs started."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            ours = b"--deployed" in file.read_bytes()
            if ours and f"SLURM_CONF={slurm.configuration}".encode() in (file.parent / "environ").read_bytes():
                found.append(int(file.parent.name))
        except OSError:
            continue
    return found


def leftovers(slurm, state, patience=20):
    """Return what is left of all clusters after at most `patience` seconds: jobs, processes, files of the ledger."""
    deadline = time.monotonic() + patience
    while True:
        left = [f"job {job} {state}" for job, state in slurm.jobs().items()]
        left += [f"process {pid}" for pid in tasks_of(slurm)]
        left += [str(file) for file in state.rglob("*.*")] if state.exists() else []
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)
