"""How long each chapter will take on a machine, and why some will be slow there: a rough outlook, not a promise."""

import os
from dataclasses import dataclass
from pathlib import Path

LIMIT = 30  # seconds: what every chapter promises on two cores
REFERENCE_CORES = 2
_GROUP = Path("/sys/fs/cgroup")  # where Linux keeps a container's limits


@dataclass(frozen=True)
class Chapter:
    """A chapter: `minutes` to read it, `seconds` its cells took on two cores, `busy` processes or threads at most,
    `memory` in GiB over all its processes, `waits_for` what the seconds go to.
    """

    name: str
    minutes: int
    seconds: float
    busy: int
    memory: float
    waits_for: str


@dataclass(frozen=True)
class Outlook:
    """What to expect of `chapter` on a machine: `seconds`, and `why` they are many ("" where they are not)."""

    chapter: Chapter
    seconds: float
    why: str


_EVERY_CORE = 64  # torch's threads take what there is

#: Seconds and GiB as seen on two cores of a virtual machine (AMD EPYC, 2026-11-21), rounded up.
CHAPTERS = (
    Chapter("00_start_here", 15, 12, 2, 0.8, "starting a process"),
    Chapter("01_devices", 50, 12, 1, 0.7, "drawing tables"),
    Chapter("02_matmul_timing", 50, 29, _EVERY_CORE, 0.9, "products of 4500 × 4500 matrices"),
    Chapter("03_game_of_life", 45, 18, 1, 0.8, "boards of a million cells"),
    Chapter("04_mapreduce_mean", 50, 22, 2, 1.2, "starting processes"),
    Chapter("05_distributed_pi", 45, 18, 3, 1.0, "counting darts"),
    Chapter("06_async_regression", 90, 29, 3, 1.4, "training in three processes"),
    Chapter("07_replicas_mnist", 60, 24, 4, 1.6, "training in four processes"),
)


def outlook(cores: int, memory: float, slower: float = 1.0) -> list[Outlook]:
    """Return an `Outlook` for each chapter on a machine with `cores`, `memory` (GiB) and cores `slower` times as slow.

    A chapter that keeps many processes busy gains from more cores and loses from fewer. Raises ValueError for what no
    machine has.

    >>> [o.chapter.name for o in outlook(1, 8) if o.why][:1]
    ['02_matmul_timing']
    """
    for name, value in (("cores", cores), ("memory", memory), ("slower", slower)):
        if value <= 0:
            raise ValueError(f"outlook({name}={value}): give a number above 0, as this machine's cores and GiB.")
    return [_one(chapter, cores, memory, slower) for chapter in CHAPTERS]


def _one(chapter, cores, memory, slower):
    crowd = min(chapter.busy, REFERENCE_CORES) / min(chapter.busy, cores)
    seconds = chapter.seconds * slower * crowd
    if memory < chapter.memory:
        return Outlook(chapter, seconds, f"it needs {chapter.memory:g} GiB")
    if seconds <= LIMIT:
        return Outlook(chapter, seconds, "")
    return Outlook(chapter, seconds, f"{chapter.waits_for}{f' on {cores} core' if crowd > 1 else ', on slow cores'}")


def usable_cores(group: Path = _GROUP) -> int:
    """Return how many cores this process may keep busy: a hosted notebook may see 64 and be allowed 1.

    >>> usable_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):  # not Linux, or no limit file
        return cores
    return cores if quota == "max" else min(cores, max(1, int(quota) // int(period)))
