"""Trials on a cluster that was started by hand: nobody replaces a member but the trial, and the scheduler can die."""

import signal
import subprocess
import time

from course.cluster import connect
from tests.slow.faults.outcome import Outcome
from tests.slow.faults.processes.left import left_here, left_in_folder, left_in_tasks, open_here
from tests.slow.faults.processes.members import Members
from tests.slow.faults.scenes.local import folder_of_its_own
from tests.slow.faults.scenes.stage import Stage
from tests.slow.faults.trial import tried


class SeparateScene:
    """A scheduler, two parameter servers and three workers, each a process; kept over trials and mended after each."""

    def __init__(self):
        self._members = Members(ps=2, worker=3)

    def prepare(self, plan):
        """Wait until every member is there."""
        with self._connected() as cluster:
            list(cluster.executor.map(abs, range(8)))

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        before, members = open_here(), self._members
        with folder_of_its_own() as folder:
            with self._connected() as cluster:
                began = time.monotonic()
                stage = Stage(cluster, plan, folder, members)
                end, said, found, standstill = tried(stage, SEPARATE_STRIKES[plan.kind.name])
                seconds = time.monotonic() - began
            members.mend()
            with self._connected() as cluster:
                leaks = [*left_in_tasks(cluster), *left_in_folder(folder)]
        leaks += left_here(before)
        end = "leak" if leaks and end != "wrong" else end
        return Outcome(plan.seed, plan.kind.name, end, seconds, standstill, "; ".join(said), [*found, *leaks])

    def close(self):
        self._members.close()

    def _connected(self):
        return connect(self._members.spec, security=self._members.certificate, timeout=150)


def worker_killed(stage, session):
    """SIGKILL a worker; somebody starts it again a moment later."""
    _kill(stage, stage.victim("worker"))


def worker_frozen(stage, session):
    """SIGSTOP a worker for longer than silence is borne."""
    _freeze(stage, stage.victim("worker"))


def ps_killed(stage, session):
    """SIGKILL a parameter server; it is started again, but later than training can wait."""
    _kill(stage, stage.victim("ps"))


def ps_frozen(stage, session):
    """SIGSTOP a parameter server until others have taken its place; then it wakes."""
    _freeze(stage, stage.victim("ps"))


def scheduler_killed(stage, session):
    """SIGKILL the scheduler; it is started again later."""
    _kill(stage, "scheduler")


def scheduler_frozen(stage, session):
    """SIGSTOP the scheduler for some seconds."""
    _freeze(stage, "scheduler")


def duplicate(stage, session):
    """Start a second process for a worker that is there, on another port."""
    _intrude(stage, elsewhere=True)


def port_taken(stage, session):
    """Start a second process for a worker that is there, on the same port."""
    _intrude(stage, elsewhere=False)


def _intrude(stage, elsewhere):
    name = stage.victim("worker")
    process = stage.members.intruder(name, elsewhere)

    def refused():
        try:
            words, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            return [f"a second {name} was not refused: {process.communicate()[0]}"]
        stage.said.append(words.strip().split("\n")[-1])
        clear = process.returncode != 0 and "Traceback" not in words and name in words
        return [] if clear else [f"a second {name} ended with {process.returncode} and said {words!r}"]

    stage.checks.append(refused)


def _kill(stage, name):
    stage.signal(name, signal.SIGKILL)
    stage.later(stage.plan.seconds, stage.members.restart, name)


def _freeze(stage, name):
    stage.signal(name, signal.SIGSTOP)
    stage.later(stage.plan.seconds + 3, stage.signal, name, signal.SIGCONT)


SEPARATE_STRIKES = {
    "worker killed by hand": worker_killed,
    "worker frozen by hand": worker_frozen,
    "ps killed by hand": ps_killed,
    "ps frozen by hand, wakes": ps_frozen,
    "duplicate task": duplicate,
    "port taken": port_taken,
    "scheduler killed": scheduler_killed,
    "scheduler frozen": scheduler_frozen,
}
