"""One GPU a task: which of a host's GPUs a task sees, by CUDA_VISIBLE_DEVICES, before PyTorch has looked at them.

The rule: the tasks of one host, in the spec's order and without the ps tasks (which keep parameters in memory), take
the host's GPUs one after the other; with more tasks than GPUs they begin again at the first. Where
CUDA_VISIBLE_DEVICES is set already, its devices are those that are divided.
"""

import os
import subprocess
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from course.cluster.spec import ClusterSpec
from course.deadlines import GPUS_COUNTED

VARIABLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder for each GPU (Linux)


def share_gpus(
    spec: ClusterSpec, job: str, index: int, environment: MutableMapping[str, str] = os.environ
) -> str | None:
    """Set CUDA_VISIBLE_DEVICES in `environment` for task `index` of `job`, where its host has several GPUs.

    Return the device that was chosen, as text, or None where nothing was changed: a ps task, or fewer than two GPUs.
    """
    there = visible_gpus(environment)
    if job in ("ps", "scheduler") or len(there) < 2:
        return None
    environment[VARIABLE] = there[_place(spec, job, index) % len(there)]
    return environment[VARIABLE]


def visible_gpus(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the GPUs that PyTorch would see, as the texts that CUDA_VISIBLE_DEVICES takes."""
    if VARIABLE in environment:
        return [one.strip() for one in environment[VARIABLE].split(",") if one.strip() not in ("", "-1")]
    return [str(number) for number in range(count_gpus())]


def count_gpus() -> int:
    """Return how many GPUs this machine has, without starting CUDA, which would fix what this process sees."""
    if _DRIVER.is_dir():
        return sum(1 for _ in _DRIVER.iterdir())
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=GPUS_COUNTED)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def _place(spec, job, index):
    """Return which of its host's tasks this is: 0 for the first."""
    beside = spec.tasks_beside(spec.task_address(job, index))
    return [task for task in beside if not task.startswith("/job:ps/")].index(f"/job:{job}/task:{index}")
