"""The first lines of a task where processes are spawned (macOS, Windows): settings come in as one line of JSON."""

import json
import os
import sys
import threading

from course.cluster.task.task import run_task, task_settings


def main():
    """Read the settings from standard input, watch it for its end (the owner is gone), and run the task."""
    leash = os.fdopen(os.dup(0), "rb")
    settings = task_settings(json.loads(leash.readline()))
    threading.Thread(target=_end_with_owner, args=(leash,), daemon=True, name="leash").start()
    sys.exit(run_task(settings))


def _end_with_owner(leash):
    leash.read()
    os._exit(1)
