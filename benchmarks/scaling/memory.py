"""How much memory processes have together, with what they share counted once."""

from collections.abc import Iterable

import psutil


def proportional(processes: Iterable[psutil.Process]) -> int:
    """Return the bytes of all these processes: the sum of their PSS, in which a page counts to each by its share.

    (proc_pid_smaps(5) has the definition.) Where the system tells no PSS, macOS and Windows, it is the RSS, which is
    never less. A process that has ended meanwhile, or may not be looked at, counts as nothing.
    """
    total = 0
    for process in processes:
        try:
            memory = process.memory_full_info()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        total += getattr(memory, "pss", None) or memory.rss
    return total


def tree(pid: int | None = None) -> list[psutil.Process]:
    """Return the process `pid` (None: this one) and all below it; none where it has ended."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
