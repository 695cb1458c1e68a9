"""One GPU a task: which of a host's GPUs a task sees, by CUDA_VISIBLE_DEVICES, before PyTorch has looked at them.

The rule: the tasks of one host, in the spec's order and without the ps tasks (which keep parameters in memory), take
the host's GPUs one after the other; with more tasks than GPUs they begin again at the first. Where
CUDA_VISIBLE_DEVICES is set already, its devices are those that are divided.
"""

import os
import subprocess
from collections.abc import Mapping, MutableMapping, Sequence
from itertools import cycle
from pathlib import Path

from course.cluster.spec import ClusterSpec

#: For `nvidia-smi` to count GPUs.
GPUS_COUNTED = 10.0

VARIABLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder for each GPU (Linux)


def share_gpus(
    spec: ClusterSpec, job: str, index: int, environment: MutableMapping[str, str] = os.environ
) -> str | None:
    """Set CUDA_VISIBLE_DEVICES in `environment` for task `index` of `job`, where its host has several GPUs.

    Return the device that was chosen, as text, or None where nothing was changed: a ps task, or fewer than two GPUs.
    """
    beside = [] if job == "scheduler" else spec.tasks_beside(spec.task_address(job, index))
    chosen = gpus_of_tasks(beside, visible_gpus(environment)).get(f"/job:{job}/task:{index}")
    if chosen is not None:
        environment[VARIABLE] = chosen
    return chosen


def gpus_of_tasks(tasks: Sequence[str], gpus: Sequence[str]) -> dict[str, str]:
    """Return which of a host's `gpus` each of its `tasks` gets, by the rule above; nothing for fewer than two GPUs.

    >>> gpus_of_tasks(["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"], ["0", "1", "2"])
    {'/job:worker/task:0': '0', '/job:worker/task:1': '1'}
    """
    takers = [task for task in tasks if not task.startswith("/job:ps/")]
    return dict(zip(takers, cycle(gpus), strict=False)) if len(gpus) > 1 else {}


def visible_gpus(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the GPUs that PyTorch would see, as the texts that CUDA_VISIBLE_DEVICES takes."""
    if VARIABLE in environment:
        return [gpu.strip() for gpu in environment[VARIABLE].split(",") if gpu.strip() not in ("", "-1")]
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
