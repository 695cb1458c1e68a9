"""A control group for one sandbox, where this machine lets us make one: the kernel then counts memory and processes.

The watcher in `usage.py` looks a few times a second; between two looks a program can take gigabytes. The kernel's own
limit has no such gap. Both versions of control groups; where none can be written to, only the watcher limits.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
LIMITS_OF_MEMORY = ("memory.max", "memory.limit_in_bytes")  # version 2, version 1
#: Seconds in which the timer interrupts whatever runs: two of its periods, on the slowest (100 Hz).
TICKS_PASS = 0.02
PREFIX = "course-grading-"
NUMBERS = count()


@dataclass(frozen=True)
class ControlGroup:
    """The folders of one sandbox's group: one in version 2, one a controller in version 1; none: no such thing here."""

    folders: tuple[Path, ...] = ()

    @property
    def counts_memory(self) -> bool:
        """Whether the kernel limits its memory."""
        return any((folder / name).exists() for folder in self.folders for name in LIMITS_OF_MEMORY)

    def holding(self, pid: int) -> "ControlGroup":
        """Put the process `pid`, and what it will start, under the limits; return the folders that took it."""
        holding = []
        for folder in self.folders:
            with suppress(OSError):  # a group that can be made may not be one that a process can be moved to
                (folder / "cgroup.procs").write_text(str(pid))
                holding.append(folder)
        return ControlGroup(tuple(holding))

    def cpu_seconds(self) -> float | None:
        """Return the processor seconds of all that ran in the group, also of what has ended; None: not counted.

        The kernel adds up what a thread used when it waits for something or is interrupted by the timer. So that
        nothing is left out which ran up to now, this waits for that long.
        """
        if not self.folders:
            return None
        time.sleep(TICKS_PASS)
        for folder in self.folders:
            if (used := _counted(folder / "cpu.stat", "usage_usec")) is not None:
                return used / 1e6
            if text := _read(folder / "cpuacct.usage").strip():
                return int(text) / 1e9
        return None

    def ran_out_of_memory(self) -> bool:
        """Tell whether the kernel killed a process of the group for its memory."""
        accounts = (folder / name for folder in self.folders for name in ("memory.events", "memory.oom_control"))
        return any(_counted(account, "oom_kill") for account in accounts)


@contextmanager
def control_group(memory: int, processes: int) -> Iterator[ControlGroup]:
    """Give, within the `with`, a `ControlGroup` with these limits; an empty one where the machine has none for us."""
    name = f"{PREFIX}{os.getpid()}-{next(NUMBERS)}"
    folders, limited = [], []
    try:
        for parent, limits in _homes(memory, processes):
            _sweep(parent)
            folder = parent / name
            with suppress(OSError):  # not for us to make: the watcher does without
                folder.mkdir()
                folders.append(folder)
                for file, value in limits.items():
                    if (folder / file).exists():
                        (folder / file).write_text(str(value))
                limited.append(folder)
        yield ControlGroup(tuple(limited))
    finally:
        for folder in folders:
            _remove(folder)


def _sweep(parent):
    """Remove what a grader left that was killed; its processes died with it."""
    for folder in parent.glob(f"{PREFIX}*"):
        if not Path("/proc", folder.name.removeprefix(PREFIX).split("-")[0]).exists():
            with suppress(OSError):  # another grader was first, or something in it still ends
                folder.rmdir()


def _homes(memory, processes):
    """Yield the folders in which a group can be made, with the files that hold its limits."""
    memory_1 = {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}
    version_1 = {"memory": memory_1, "pids": {"pids.max": processes}, "cpuacct": {}}
    for line in _read(OWN_GROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            home = _delegating(path)
            if home is not None:
                yield home, {"memory.max": memory, "memory.swap.max": 0, "pids.max": processes}
        elif name := next((name for name in version_1 if name in controllers.split(",")), None):
            yield ROOT / name / path.lstrip("/"), version_1[name]


def _delegating(path):
    """Return the nearest folder above this process's own group that hands memory down to its children, or None.

    Not the own group itself: in version 2 one that has processes can't have children with limits.
    """
    folder = (ROOT / path.lstrip("/")).parent if path != "/" else ROOT
    while folder.is_relative_to(ROOT):
        if "memory" in _read(folder / "cgroup.subtree_control").split() and os.access(folder, os.W_OK):
            return folder
        folder = folder.parent
    return None


def _remove(folder):
    """Remove a group whose processes have ended; the kernel may take a moment to see that they have."""
    deadline = time.monotonic() + 5.0
    while folder.exists():
        try:
            folder.rmdir()
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.ENOENT) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _counted(path, name):
    words = _read(path).split()
    return int(words[words.index(name) + 1]) if name in words else None


def _read(path):
    try:
        return path.read_text()
    except OSError:
        return ""
