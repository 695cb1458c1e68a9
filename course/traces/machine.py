"""The machine you are on, as far as it matters here: its processor, the cores and memory you may use, the versions."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")  # where Linux keeps a container's limits


@dataclass(frozen=True)
class Machine:
    """A computer: `cpu` its processor's name, `cores` and `memory` (bytes) this process may use, versions as text."""

    cpu: str
    cores: int
    memory: int
    system: str
    python: str
    torch: str


def this_machine():
    """Return the `Machine` this process runs on; a container's limits count, not the host's size.

    >>> this_machine().cores >= 1
    True
    """
    return Machine(
        cpu=_processor(),
        cores=usable_cores(),
        memory=usable_memory(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        torch=_version("torch"),
    )


def usable_cores(group=_GROUP):
    """Return how many cores this process may keep busy: a hosted notebook sees 64 and may use 1."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota, period = (_first_line(group / "cpu.max").split() + ["max", "max"])[:2]
    if quota.isdigit() and period.isdigit():
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def usable_memory(group=_GROUP):
    """Return the bytes of memory this process may use: the machine's, or less where a container is given less."""
    import psutil

    limit = _first_line(group / "memory.max")
    total = psutil.virtual_memory().total
    return min(total, int(limit)) if limit.isdigit() else total


def _processor():
    """The processor's name in words: Linux keeps it in a file, the others tell `platform`."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.processor() or platform.machine() or "unknown processor"


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _first_line(path):
    try:
        return path.read_text().strip()
    except OSError:
        return ""  # not Linux, or no limit set
