"""Trials on a local cluster, which is kept over many of them: tasks are killed and frozen, disks fill, files tear."""

import shutil
import tempfile
import time
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import torch

from course.cluster import local_cluster
from tests.course.training.small_disk import small_disk
from tests.slow.faults.counting import SGD_1
from tests.slow.faults.outcome import outcome_of
from tests.slow.faults.processes.left import left_here, left_in_folder, left_in_tasks, open_here
from tests.slow.faults.scenes.stage import Stage
from tests.slow.faults.scenes.strikes import STRIKES
from tests.slow.faults.surroundings.wires import WIRE_STRIKES, proxied
from tests.slow.faults.trial import tried


class LocalScene:
    """A local cluster, kept from plan to plan while they need as many ps tasks; `close` ends it."""

    def __init__(self):
        self._cluster, self._ps = None, None

    def prepare(self, plan):
        """Open the cluster that the plan needs, unless it is open."""
        if plan.ps != self._ps:
            self.close()
            self._cluster, self._ps = local_cluster(ps=plan.ps, worker=3), plan.ps
            list(self._cluster.executor.map(_warm, range(8)))

    def run(self, plan):
        """Stage the plan; return its `Outcome`."""
        cluster, name = self._cluster, plan.kind.name
        before, began = open_here(), time.monotonic()
        with ExitStack() as stack:
            folder = stack.enter_context(small_disk(megabytes=1) if name == "disk full" else folder_of_its_own())
            stage = Stage(cluster, plan, folder)
            stage.proxies = stack.enter_context(proxied() if name in WIRE_STRIKES else nullcontext([]))
            strike = {**STRIKES, **WIRE_STRIKES}[name]
            trial = tried(stage, strike, more=1500 if name == "disk full" else 0)
            seconds = time.monotonic() - began
            leaks = [*left_in_tasks(cluster), *left_in_folder(folder)]
        return outcome_of(plan, seconds, *trial, [*leaks, *left_here(before)])

    def close(self):
        if self._cluster is not None:
            self._cluster.close()
        self._cluster, self._ps = None, None


def _warm(_):
    """Import in a task what the first optimiser and the first gradient import."""
    SGD_1([torch.zeros(1, requires_grad=True).sum().backward() or torch.zeros(1)])


@contextmanager
def folder_of_its_own():
    """Within the `with`, a new folder for checkpoints."""
    folder = Path(tempfile.mkdtemp(prefix="course-fault-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
