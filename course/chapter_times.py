"""How long each chapter will take on a machine, and why some will be slow there: a rough outlook, not a promise."""

from dataclasses import dataclass
from pathlib import Path

from course.compiled import cores

LIMIT = 30  # seconds: what every chapter promises on two cores
REFERENCE_CORES = 2
_GROUP = Path("/sys/fs/cgroup")  # where Linux keeps a container's limits


@dataclass(frozen=True)
class Chapter:
    """A chapter: `minutes` to read it, its seconds on two cores by part, at most `busy` processes or threads at once.

    `starting` are seconds of Python: imports, processes, pictures, checks. `products` are seconds of large matrix
    products. `fixed` ones are the same on every machine: measurements that repeat until their time is over. `memory` is
    in GiB over all processes; `waits_for` says what most of the seconds go to.
    """

    name: str
    minutes: int
    starting: float
    products: float
    fixed: float
    busy: int
    memory: float
    waits_for: str

    @property
    def seconds(self) -> float:
        """The seconds of Run All on two cores of the machine that the chapters were run on."""
        return self.starting + self.products + self.fixed


@dataclass(frozen=True)
class Outlook:
    """What to expect of `chapter` on a machine: `seconds`, and `why` they are many ("" where they are not)."""

    chapter: Chapter
    seconds: float
    why: str


_EVERY_CORE = 64  # torch's threads take what there is

#: Seconds after which a process with torch was ready where the chapters' seconds were seen: chapter 00 measures it.
READY = 1.5
#: Seconds and GiB as seen on two cores of a virtual machine (AMD EPYC, 2026-11-22).
CHAPTERS = (
    Chapter("00_start_here", 15, 7, 0, 0, 2, 0.8, "starting a process"),
    Chapter("01_devices", 50, 6, 0, 0, 1, 0.7, "drawing tables"),
    Chapter("02_matmul_timing", 50, 7, 6, 13, _EVERY_CORE, 0.9, "products of 4500 × 4500 matrices"),
    Chapter("03_game_of_life", 45, 9, 0, 0, 1, 0.8, "boards of a million cells"),
    Chapter("04_mapreduce_mean", 50, 21, 0, 0, 2, 1.2, "starting processes"),
    Chapter("05_distributed_pi", 45, 11, 0, 0, 3, 1.0, "counting darts"),
    Chapter("06_async_regression", 90, 29, 0, 0, 3, 1.4, "training in three processes"),
    Chapter("07_replicas_mnist", 60, 20, 0, 0, 4, 1.6, "training in four processes"),
    Chapter("08_serving", 75, 23, 0, 6, 5, 1.5, "starting processes"),
    Chapter("09_beyond_one_machine", 60, 9, 0, 20, 3, 1.2, "waiting for a slow line"),
)


def outlook(cores: int, memory: float, slower: float = 1.0, starts: float = 1.0) -> list[Outlook]:
    """Return an `Outlook` for each chapter on a machine with `cores` and `memory` (GiB).

    - `slower`: how many times as long a matrix product takes there, on one core; `starts`: how many times as long
      until a process with torch is ready (`READY` seconds where the chapters were run). A machine may well be slow in
      one of them only.

    A chapter that keeps many processes busy loses from fewer cores; only products gain from more than two. Raises
    ValueError for what no machine has.

    >>> [o.chapter.name for o in outlook(1, 8) if o.why][:1]
    ['02_matmul_timing']
    """
    for name, value in (("cores", cores), ("memory", memory), ("slower", slower), ("starts", starts)):
        if value <= 0:
            raise ValueError(f"outlook({name}={value}): give a number above 0, as this machine's cores and GiB.")
    return [_outlook_of(chapter, cores, memory, slower, starts) for chapter in CHAPTERS]


def _outlook_of(chapter, cores, memory, slower, starts):
    crowd = min(chapter.busy, REFERENCE_CORES) / min(chapter.busy, cores)
    seconds = chapter.starting * starts * max(1.0, crowd) + chapter.products * slower * crowd + chapter.fixed
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
    allowed = cores()
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):  # not Linux, or no limit file
        return allowed
    return allowed if quota == "max" else min(allowed, max(1, int(quota) // int(period)))
