"""What a sandbox uses, measured from outside: memory with its files, processor time, processes, files."""

import os
from contextlib import suppress
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


def usage(root: int, limit: float, count_shared: bool = True) -> Usage:
    """Return the `Usage` of the process `root` and all below it; above `limit` bytes memory is counted exactly.

    Resident pages are quick to read but count a page that ten processes share ten times; the exact way is slow.
    `count_shared`: also memory that was made to be shared and lies in no process (the kernel counts it in a group).
    """
    tree = processes_below(root)
    stored, files = _stored(root)
    elsewhere = stored + (_shared(tree) if count_shared else 0)
    memory = elsewhere + sum(_resident(pid) for pid in tree)
    if memory > limit:
        memory = elsewhere + sum(_proportional(pid) for pid in tree)
    times = [_times(pid) for pid in tree]
    return Usage(memory, sum(s for s, _ in times), sum(threads for _, threads in times), files)


def processes_below(root: int) -> list[int]:
    """Return `root` and the processes below it. The first process of a namespace inherits what others leave."""
    tree, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        tree.append(pid)
        waiting += [child for child in _children(pid) if child not in tree]
    return tree


def _children(pid):
    children = []
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end while we look
        for thread in os.listdir(f"/proc/{pid}/task"):
            children += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return children


def _resident(pid):
    numbers = _read(f"/proc/{pid}/statm").split()
    # without field 3, pages of files: program text is the machine's own, and files of memory are in `_stored`
    return (int(numbers[1]) - int(numbers[2])) * PAGE if numbers else 0


def _proportional(pid):
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss_Anon:"):
            return int(line.split()[1]) * 1024
    return _resident(pid)


def _shared(tree):
    """Return the size of memory that was mapped to be shared: a child may fill it and end, and it is no process's."""
    sizes = {}
    for pid in tree:
        for line in _read(f"/proc/{pid}/maps").splitlines():
            if line.endswith("/dev/zero (deleted)"):  # so the kernel calls it
                addresses, _, _, _, inode, *_ = line.split()
                first, last = (int(address, 16) for address in addresses.split("-"))
                sizes[inode] = max(sizes.get(inode, 0), last - first)
    return sum(sizes.values())


def _times(pid):
    """Return the processor seconds of `pid` with those of its children that ended, and its threads."""
    # the name may hold blanks and brackets: fields are counted after the last bracket
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (sum(map(int, fields[11:15])) / TICKS, int(fields[17])) if fields else (0.0, 0)


def _stored(root):
    """Return the bytes in the sandbox's own file systems and how many files they have."""
    size = files = 0
    for name in FILE_SYSTEMS:
        with suppress(FileNotFoundError, PermissionError, ProcessLookupError):
            file_system = os.statvfs(
                f"/proc/{root}/root/{name}"
            )  # a mount point: what runs inside can't put a link there
            size += (file_system.f_blocks - file_system.f_bfree) * file_system.f_frsize
            files += file_system.f_files - file_system.f_ffree
    return size, files


def _read(path):
    with suppress(FileNotFoundError, ProcessLookupError, PermissionError):  # it may end while we look
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    return ""
