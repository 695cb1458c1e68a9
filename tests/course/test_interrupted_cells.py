"""A reader's *Interrupt* in a real kernel: what runs long ends by KeyboardInterrupt, and the cluster works on."""

import ast

import psutil
import pytest
from jupyter_client import KernelManager

from tests.helpers.shells import eventually

pytestmark = pytest.mark.long
BEGIN = """
import os, time
from functools import partial
import torch
from course import estimate_pi, local_cluster, training
from course.tuning import tune
from course.widgets import Dashboard

problem, SGD = training.linear_regression(), partial(torch.optim.SGD, lr=0.02)
slow = training.paced(problem, seconds=0.005)
space = {"learning_rate": (0.001, 0.1, "log")}
cluster = local_cluster(ps=1, worker=2)
print("ready", flush=True)
"""
#: What is interrupted, and what must work on the same cluster afterwards.
LONG = {
    "train": "training.train(slow, cluster, optimizer=SGD, total_steps=10**7)",
    "train with a dashboard": "training.train(slow, cluster, optimizer=SGD, total_steps=10**7, hooks=[Dashboard()])",
    "tune": "tune(slow, space, cluster, trials=100, steps=2000)",
    "estimate_pi on the cluster": "estimate_pi(2**38, executor=cluster.executor, parts=2000)",
    "a result": "display('waits')\nwhile True: cluster.executor.submit(time.sleep, 0.2).result()",
    "Dask's own": "display('waits')\nwhile True: cluster.client.submit(time.sleep, 0.2, pure=False).result()",
    "estimate_pi here": "estimate_pi(2**40)",
}
AFTER = """
assert training.train(problem, cluster, optimizer=SGD, total_steps=100).version == 100
assert estimate_pi(100_000, 1, cluster.executor).inside == estimate_pi(100_000, 1).inside
print("works on")
"""


class Cells:
    """A kernel, whose cells are run one at a time."""

    def __init__(self):
        self.manager = KernelManager()
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(60)

    def begin(self, source):
        """Send a cell."""
        self.asked = self.client.execute(source)

    def message(self, *kinds):
        """Return the next message of these kinds that the cell sends, as (kind, content)."""
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") == self.asked and message["msg_type"] in kinds:
                return message["msg_type"], message["content"]

    def run(self, source):
        """Run a cell to its end; return what it printed, and the name of its error, or None."""
        self.begin(source)
        return self.ended()

    def ended(self):
        """Return what the cell that runs prints from now on, and the name of its error, or None."""
        printed, error = "", None
        while True:
            kind, content = self.message("stream", "error", "status")
            if kind == "stream":
                printed += content["text"]
            elif kind == "error":
                error = content["ename"]
            elif content["execution_state"] == "idle":
                return printed, error

    def pids(self):
        """Return the processes of the cluster's tasks."""
        return ast.literal_eval(self.run("print([*cluster.client.run(os.getpid).values()])")[0])

    def close(self):
        """End the kernel, which leaves its cluster open."""
        if self.manager.has_kernel:
            self.client.stop_channels()
            self.manager.shutdown_kernel()


@pytest.fixture
def cells():
    kernel = Cells()
    try:
        yield kernel
    finally:
        kernel.close()


def test_interrupted_work_ends_the_cluster_works_on_and_a_closed_notebook_leaves_nothing(cells):
    assert cells.run(BEGIN) == ("ready\n", None)
    for name, source in LONG.items():
        cells.begin(source)
        while not cells.message("display_data", "update_display_data")[1]["data"]:
            pass  # a progress line shows nothing at first
        cells.manager.interrupt_kernel()
        assert cells.ended()[1] == "KeyboardInterrupt", name
        printed, error = cells.run(AFTER)
        assert (printed.strip(), error) == ("works on", None), name
    pids = cells.pids()
    cells.close()
    eventually(lambda: not any(map(psutil.pid_exists, pids)))
