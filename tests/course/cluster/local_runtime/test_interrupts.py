"""Interrupting a cell: the signal goes to the kernel's whole process group, and the cluster stays usable."""

import os
import signal
import subprocess
import sys
import time

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
    try:
        say(name)
        while True:
            wait()
    except KeyboardInterrupt:
        say("interrupted")
assert made.executor.submit(pow, 2, 5).result(timeout=60) == 32
with made.at("/job:worker/task:0"):
    assert made.executor.submit(os.getpid).result(timeout=60) in pids
made.close()
say("closed")
"""


def signal_group_after(process, words):
    """Read `process`'s lines up to one of `words`, wait a little, and interrupt its whole group, once for each word."""
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if lines[-1] in words:
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGINT)
    return lines


def start(script):
    return subprocess.Popen([sys.executable, "-c", script], stdout=-1, stderr=-1, text=True, start_new_session=True)


def finish(process):
    try:
        return process.communicate(timeout=120)[1]
    finally:
        process.kill()


@pytest.mark.long
def test_an_interrupted_wait_leaves_the_cluster_usable():
    process = start(CELLS)
    words = ["result", "map", "gather", "first use"]
    lines = signal_group_after(process, words)
    complaints = finish(process)
    assert lines == [line for word in words for line in (word, "interrupted")] + ["closed"], complaints
    assert (process.returncode, complaints) == (0, "")


STARTING = """
import sys, threading, time
from course.cluster import local_cluster
try:
    print("starting", flush=True)
    with local_cluster(worker=1):
        time.sleep(60)  # it was quicker than the interrupt
except KeyboardInterrupt:
    print("interrupted", flush=True)
with local_cluster(worker=1) as made:
    print(made.executor.submit(pow, 2, 5).result(timeout=60), flush=True)
"""


@pytest.mark.long
def test_an_interrupted_start_leaves_nothing_and_the_next_one_works():
    process = start(STARTING)
    lines = signal_group_after(process, ["starting"])
    complaints = finish(process)
    assert (lines, process.returncode, complaints) == (["starting", "interrupted", "32"], 0, "")
