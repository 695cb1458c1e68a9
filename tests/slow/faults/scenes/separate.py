"""Trials on a cluster that was started by hand: nobody replaces a member but the trial, and the scheduler can die."""

import time

from course.cluster import connect
from tests.slow.faults.outcome import outcome_of
from tests.slow.faults.processes.left import left_here, left_in_folder, left_in_tasks, open_here
from tests.slow.faults.processes.members import Members
from tests.slow.faults.scenes.local import folder_of_its_own
from tests.slow.faults.scenes.stage import Stage
from tests.slow.faults.scenes.strikes import STRIKES
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
                trial = tried(Stage(cluster, plan, folder, members), STRIKES[plan.kind.name])
                seconds = time.monotonic() - began
            members.mend()
            with self._connected() as cluster:
                leaks = [*left_in_tasks(cluster), *left_in_folder(folder)]
        return outcome_of(plan, seconds, *trial, [*leaks, *left_here(before)])

    def close(self):
        self._members.close()

    def _connected(self):
        return connect(self._members.spec, security=self._members.certificate, timeout=150)
