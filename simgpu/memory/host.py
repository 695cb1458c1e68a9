"""The host's own memory: what is free of it, and what is pinned.

A pinned CPU tensor is marked as such, since only a driver could really pin it. The mark is on the storage, as in torch:
views of a pinned tensor are pinned too. The clock models copies from and to marked tensors as those of pinned memory.
"""

import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import torch

_PINNED: dict[int, weakref.ref] = {}  # address of a storage -> weak reference to it


def pin(tensor: torch.Tensor, device: object = None) -> torch.Tensor:
    """Return a marked copy of a CPU tensor, or the tensor itself when it is marked: what `Tensor.pin_memory` does.

    `device` is taken and ignored, as torch deprecates it. Raises torch's RuntimeError for a tensor on a device.
    """
    if tensor.device.type != "cpu" or tensor.is_sparse:
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor if is_pinned(tensor) else mark(tensor.detach().clone())


def is_pinned(tensor: torch.Tensor, device: object = None) -> bool:
    """Return whether `tensor` lies in memory that is marked as pinned: what `Tensor.is_pinned` does."""
    if tensor.device.type != "cpu" or tensor.is_sparse or not _PINNED:
        return False
    storage = tensor.untyped_storage()
    reference = _PINNED.get(storage._cdata)
    return reference is not None and reference() is storage


def mark(tensor: torch.Tensor) -> torch.Tensor:
    """Mark a CPU tensor's memory as pinned and return the tensor: for factories with `pin_memory=True`."""
    storage = tensor.untyped_storage()
    key = storage._cdata
    _PINNED[key] = weakref.ref(storage, lambda gone: _PINNED.get(key) is gone and _PINNED.pop(key))
    return tensor


def free_of_system() -> int:
    """Return the bytes that Linux reports as available; `sys.maxsize` on other systems."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return sys.maxsize
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), sys.maxsize)


def free_on_host(free_of_system: Callable[[], int] = free_of_system) -> int:
    """Return the bytes that this process can still get: the system's, or its container's where that has fewer."""
    free = free_of_system()
    for folder, limit, used, files in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            most, current = (int(Path(folder, name).read_text()) for name in (limit, used))
            stat = dict(line.split() for line in Path(folder, "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue  # no such control group here, or it says "max": no limit
        free = min(free, most - current + int(stat[files]))  # copies of files are dropped when memory is asked for
    return max(free, 0)
