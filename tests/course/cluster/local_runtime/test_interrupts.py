"""Interrupting a cell: the signal goes to the kernel's whole process group, and the cluster stays usable."""

import ast
import asyncio
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from jupyter_client.manager import start_new_async_kernel

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
assert made.executor.submit(pow, 2, 5).result(timeout=60) == 32
with made.at("/job:worker/task:0"):
    assert made.executor.submit(os.getpid).result(timeout=60) in pids
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
        return process.communicate(timeout=60)[1]
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


@pytest.mark.long
def test_an_interrupted_start_leaves_nothing_and_the_next_one_works():
    process = start(STARTING)
    said = signal_group_after(process, ["starting"])
    complaints = finish(process)
    assert (said, process.returncode, complaints) == (["starting", "interrupted", "32"], 0, "")


class Kernel:
    """A live Jupyter kernel; `run` returns what a cell printed, and can interrupt it as the *Interrupt* button does."""

    async def __aenter__(self):
        self.manager, self.client = await start_new_async_kernel(kernel_name="python3", startup_timeout=60)
        return self

    async def __aexit__(self, *_):
        self.client.stop_channels()
        await self.manager.shutdown_kernel()

    async def run(self, code, interrupt_after=None):
        printed, interrupts = [], []

        async def interrupt():
            await asyncio.sleep(0.3)
            await self.manager.interrupt_kernel()

        def hear(message):
            content = message["content"]
            printed.append(content.get("text") or content.get("ename") or "")
            if printed[-1] == interrupt_after:
                interrupts.append(asyncio.create_task(interrupt()))

        await self.client.execute_interactive(code, timeout=60, output_hook=hear)
        return "".join(printed)


async def interrupt_and_go_on():
    """Interrupt two kinds of waiting, use the cluster again, forget it; return the processes of a cluster left open."""
    opening = "import os, time; from course.cluster import local_cluster; made = local_cluster(worker=2)"
    go = "print('go', end='', flush=True); "
    ask = "print(list(made.client.run(os.getpid).values()))"
    async with Kernel() as kernel:
        assert await kernel.run(opening) == ""
        first = ast.literal_eval(await kernel.run(ask))
        waiting = go + "made.executor.submit(time.sleep, 1).result(); time.sleep(60)"
        assert await kernel.run(waiting, interrupt_after="go") == "goKeyboardInterrupt"
        waiting = go + "made.client.gather(made.client.map(time.sleep, [0.5, 0.6, 60]))"
        assert await kernel.run(waiting, interrupt_after="go") == "goKeyboardInterrupt"
        assert ast.literal_eval(await kernel.run(ask)) == first
        assert await kernel.run("made.restart(); print(made.executor.submit(pow, 2, 5).result(timeout=60))") == "32\n"
        assert await kernel.run("made = local_cluster(worker=1); print(made)") == "Cluster(worker=1)\n"
        assert not any(map(psutil.pid_exists, first))  # the cell's first cluster was forgotten, and closed itself
        return ast.literal_eval(await kernel.run(ask))


@pytest.mark.long
def test_an_interrupted_cell_in_jupyter_leaves_the_cluster_usable_and_a_closed_notebook_nothing():
    pids = asyncio.run(interrupt_and_go_on())
    deadline = time.monotonic() + 60
    while any(map(psutil.pid_exists, pids)):
        assert time.monotonic() < deadline, "tasks outlive their kernel"
        time.sleep(0.05)
