"""The process that owns a cluster ends, well or badly: its tasks end with it and nothing stays behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.helpers.shells import eventually

pytestmark = pytest.mark.faults

OWNER = """
import json, os, time
import psutil
from course.cluster import local_cluster
made = local_cluster(worker=2)
tasks = list(made.client.run(os.getpid).values())
server = psutil.Process(tasks[0]).ppid()
print(json.dumps({"pids": [*tasks, server], "folder": str(made._runtime._folder)}), flush=True)
"""


@pytest.fixture
def owner():
    """A function that starts a process which runs the script above and `then`; it returns it and what it said."""
    started = []

    def start(then):
        process = subprocess.Popen([sys.executable, "-W", "error", "-c", OWNER + then], stdout=-1, stderr=-1, text=True)
        started.append(process)
        return process, json.loads(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def nothing_is_left_of(report):
    eventually(lambda: not any(map(psutil.pid_exists, report["pids"])) and not Path(report["folder"]).exists())


@pytest.mark.long
def test_when_the_owner_is_killed_its_tasks_end_even_a_stopped_one(owner):
    process, report = owner("time.sleep(1000)")
    assert Path(report["folder"]).exists()
    os.kill(report["pids"][0], signal.SIGSTOP)
    process.kill()
    nothing_is_left_of(report)


@pytest.mark.parametrize(
    ("then", "code", "last_word"),
    [
        pytest.param("1 / 0", 1, "ZeroDivisionError: division by zero", marks=pytest.mark.long),
        ("made.executor.submit(time.sleep, 1000)", 0, ""),
    ],
)
def test_when_the_owner_ends_without_closing_nothing_is_left_and_nothing_is_said(owner, then, code, last_word):
    process, report = owner(then)
    _, complaints = process.communicate(timeout=120)
    assert (process.returncode, complaints.strip().split("\n")[-1]) == (code, last_word)
    nothing_is_left_of(report)


@pytest.mark.long
def test_a_script_needs_no_main_guard(tmp_path):
    """Processes started by `multiprocessing` run the script again, which then needs `if __name__ == "__main__"`."""
    script = tmp_path / "script.py"
    script.write_text(
        "from course.cluster import local_cluster\n"
        "print('once')\n"
        "def square(x):\n    return x * x\n"
        "with local_cluster(worker=1) as made:\n    print(made.executor.submit(square, 7).result())\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=200)
    assert (done.stdout, done.stderr) == ("once\n49\n", "")
