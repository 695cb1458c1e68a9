"""Interrupting a cell: the signal goes to the kernel's whole process group, and the cluster stays usable."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

pytestmark = pytest.mark.faults

CELLS = """
import os, time
from course.cluster import local_cluster
made = local_cluster(worker=2)
pids = sorted(made.client.run(os.getpid).values())
def say(word):
    print(word, flush=True)
waits = {
    "result": lambda: made.executor.submit(time.sleep, 2).result(),
    "map": lambda: list(made.executor.map(time.sleep, [1, 1, 1, 1])),
    "gather": lambda: made.client.gather([made.client.submit(time.sleep, 2, pure=False)]),
    "first use": lambda: made.restart("/job:worker/task:1"),
}
for name, wait in waits.items():
    say(name)
    try:
        while True:
            wait()
    except KeyboardInterrupt:
        say("interrupted")
assert made.executor.submit(pow, 2, 5).result(timeout=20) == 32
with made.at("/job:worker/task:0"):
    assert made.executor.submit(os.getpid).result(timeout=20) in pids
made.close()
say("closed")
"""


def signal_group_after(process, words):
    """Read `process`'s lines up to one of `words`, wait a little, and interrupt its whole group, once for each word."""
    said = []
    for line in process.stdout:
        said.append(line.strip())
        if said[-1] in words:
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGINT)
    return said


def start(script):
    return subprocess.Popen([sys.executable, "-c", script], stdout=-1, stderr=-1, text=True, start_new_session=True)


def finish(process):
    try:
        return process.communicate(timeout=30)[1]
    finally:
        process.kill()


def test_an_interrupted_wait_leaves_the_cluster_usable():
    process = start(CELLS)
    words = ["result", "map", "gather", "first use"]
    said = signal_group_after(process, words)
    complaints = finish(process)
    assert said == [line for word in words for line in (word, "interrupted")] + ["closed"], complaints
    assert (process.returncode, complaints) == (0, "")


STARTING = """
import sys, threading, time
from course.cluster import local_cluster
print("starting", flush=True)
try:
    local_cluster(worker=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
with local_cluster(worker=1) as made:
    print(made.executor.submit(pow, 2, 5).result(timeout=30), flush=True)
"""


def test_an_interrupted_start_leaves_nothing_and_the_next_one_works():
    process = start(STARTING)
    said = signal_group_after(process, ["starting"])
    complaints = finish(process)
    assert (said, process.returncode, complaints) == (["starting", "interrupted", "32"], 0, "")


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """A live Jupyter kernel with a function `run(code, interrupt_after=None)` that returns what the cell printed."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60)
    try:
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)


class Kernel:
    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def run(self, code, interrupt_after=None):
        printed = []
        began = False

        def hear(message):
            nonlocal began
            content = message["content"]
            printed.append(content.get("text") or content.get("ename") or "")
            if interrupt_after and not began and interrupt_after in "".join(printed):
                began = True
                time.sleep(0.3)
                self.manager.interrupt_kernel()

        self.client.execute_interactive(code, timeout=60, output_hook=hear)
        return "".join(printed)


def test_an_interrupted_cell_in_jupyter_leaves_the_cluster_usable_and_quiet(kernel):
    opening = "import os, time; from course.cluster import local_cluster; made = local_cluster(worker=2); made"
    assert kernel.run(opening) == ""
    pids = eval(kernel.run("print(sorted(made.client.run(os.getpid).values()))"))
    waiting = "print('go', flush=True); made.executor.submit(time.sleep, 1).result(); time.sleep(60)"
    assert kernel.run(waiting, interrupt_after="go") == "go\nKeyboardInterrupt"
    waiting = "print('go', flush=True); made.client.gather(made.client.map(time.sleep, [1, 1.1, 60]))"
    assert kernel.run(waiting, interrupt_after="go") == "go\nKeyboardInterrupt"
    assert kernel.run("made.restart(); print(made.executor.submit(pow, 2, 5).result(timeout=20))") == "32\n"
    # One cell, run twice, forgets its first cluster; leaving the notebook ends the second.
    assert kernel.run("made = local_cluster(worker=1)\nprint(made)") == "Cluster(worker=1)\n"
    assert not any(map(psutil.pid_exists, pids))
    pids = eval(kernel.run("print(list(made.client.run(os.getpid).values()))"))
    assert all(map(psutil.pid_exists, pids))
    kernel.manager.shutdown_kernel(now=False)
    deadline = time.monotonic() + 10
    while any(map(psutil.pid_exists, pids)):
        assert time.monotonic() < deadline, "tasks outlive their kernel"
        time.sleep(0.05)
