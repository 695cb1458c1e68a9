"""What a tree of processes uses, seen from outside: memory with its files, processor time, processes, files made."""

import os
from dataclasses import dataclass

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
FILE_SYSTEMS = ("tmp", "dev/shm")


@dataclass(frozen=True)
class Usage:
    """`memory` in bytes, `cpu_seconds` of all that lived in the tree, `processes` with their threads, `files`."""

    memory: int
    cpu_seconds: float
    processes: int
    files: int


def usage(root, limit):
    """Return the `Usage` of the process `root` and all below it; above `limit` bytes memory is counted exactly.

    Resident pages are quick to read but count a page that ten processes share ten times; the exact way is slow.
    """
    tree = processes_below(root)
    stored, files = _stored(root)
    memory = stored + sum(_resident(pid) for pid in tree)
    if memory > limit:
        memory = stored + sum(_proportional(pid) for pid in tree)
    times = [_times(pid) for pid in tree]
    return Usage(memory, sum(s for s, _ in times), sum(threads for _, threads in times), files)


def processes_below(root):
    """Return `root` and the processes below it. The first process of a namespace inherits what others leave."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += _children(pid)
    return found


def _children(pid):
    children = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            children += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    except FileNotFoundError:
        return children  # it ended while we looked
    return children


def _resident(pid):
    numbers = _read(f"/proc/{pid}/statm").split()
    # files of memory (field 3 has mapped ones, program text too) are in `_stored` already or the machine's own
    return (int(numbers[1]) - int(numbers[2])) * PAGE if numbers else 0


def _proportional(pid):
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss_Anon:"):
            return int(line.split()[1]) * 1024
    return _resident(pid)


def _times(pid):
    """Return the processor seconds of `pid` with those of its children that ended, and its threads."""
    # the name may hold blanks and brackets: fields are counted after the last bracket
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not fields:
        return 0.0, 0
    return sum(map(int, fields[11:15])) / TICKS, int(fields[17])


def _stored(root):
    """Return the bytes in the sandbox's own file systems and how many files they have."""
    size = files = 0
    for name in FILE_SYSTEMS:
        try:
            found = os.statvfs(f"/proc/{root}/root/{name}")  # a mount point: what runs inside can't put a link there
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
        size += (found.f_blocks - found.f_bfree) * found.f_frsize
        files += found.f_files - found.f_ffree
    return size, files


def _read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""  # it ended while we looked
