"""The memory of simulated GPUs: the bytes of every storage, the peak, and CUDA's error when the memory is full.

Bytes are counted for each storage (views share theirs) in CUDA's steps of 512 bytes, and given back when the last
tensor on it goes. What PyTorch keeps of freed memory for later ("reserved") is counted in its segments of 2 and 20 MiB,
as if they never broke into pieces: fragmentation isn't simulated, and an allocation fails only when its bytes don't
fit.
"""

import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from simgpu.memory.host import free_of_system, free_on_host
from simgpu.units import bytes_in_words

_log = logging.getLogger(__name__)
MIB = 2**20
# Of c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize and kSmallBuffer, kMinLargeAlloc and kLargeBuffer,
# kRoundLarge.
STEP = 512
_Storage = torch.UntypedStorage
_SMALL, _MIDDLE = MIB, 10 * MIB
_SEGMENTS = {"small": 2 * MIB, "middle": 20 * MIB, "large": 2 * MIB}
_LOOK_AT_THE_HOST = 64 * MIB  # asking the system for its free memory takes as long as making some megabytes


class MemoryAccounts:
    """The accounts of `count` simulated GPUs of a model called `name`, with `memory` bytes each.

    `free()` returns the bytes that the system can still give; it is called before much is taken. Safe to use from
    several threads.
    """

    def __init__(self, memory: int, count: int, name: str = "simulated GPU", free: Callable[[], int] = free_of_system):
        self.name = name
        self._free_of_system = free
        self.accounts = tuple(Account(memory) for _ in range(count))
        self._blocks: dict[int, _Block] = {}
        self._gone: deque[_Block] = deque()  # storages whose last tensor has gone, not yet given back
        self._drop = self._gone.append
        self._lock = threading.Lock()

    def took(self, index: int, nbytes: int, tensor: "torch.Tensor | torch.UntypedStorage") -> None:
        """Count the storage of `tensor`, of `nbytes`, on GPU `index`; does nothing for one that is counted already.

        `tensor` is the simulated tensor, its `numbers`, or their storage. Raises torch.OutOfMemoryError with CUDA's
        message when the GPU's memory is full; the tensor is not counted then.
        """
        storage = tensor if isinstance(tensor, _Storage) else getattr(tensor, "numbers", tensor).untyped_storage()
        key = storage._cdata
        blocks = self._blocks
        with self._lock:
            if self._gone:
                self._settle()
            taken = nbytes + -nbytes % STEP
            counted = blocks.get(key)
            if counted is not None:
                if counted.nbytes == taken:
                    return
                self.accounts[counted.index].give(counted)  # resize_ has changed the storage
                del blocks[key]
            if nbytes:
                block = _Block(storage, self._drop)
                block.key, block.index, block.nbytes = key, index, taken
                self.accounts[index].take(block)
                blocks[key] = block

    def check_room(self, index: int, nbytes: int) -> None:
        """Raise before `nbytes` are made for GPU `index`: CUDA's error when the GPU lacks them, a MemoryError when
        only this computer, which holds the numbers, does."""
        account = self.account(index)
        if not account.fits(_up(nbytes, STEP)):
            raise account.full(_up(nbytes, STEP), index)
        if nbytes >= _LOOK_AT_THE_HOST and nbytes > (free := free_on_host(self._free_of_system)):
            raise MemoryError(
                f"The simulated GPU {index} ({self.name}) has room for {bytes_in_words(nbytes)}, this computer has "
                f"not: a simulated tensor lies in the computer's own memory, which has {bytes_in_words(free)} left. "
                "Use smaller tensors, or a real GPU."
            )

    def pool(self, index: int) -> "Pool":
        """Return a `Pool` for the CUDA graph that is captured from now on on GPU `index`."""
        return Pool(self.account(index), lambda: self.account(index))

    def account(self, index: int) -> "Account":
        """Return the `Account` of GPU `index`, with everything given back that has gone."""
        with self._lock:
            self._settle()
            return self.accounts[index]

    def _settle(self):
        gone, blocks = self._gone, self._blocks
        while gone:
            block = gone.popleft()
            if blocks.get(block.key) is block:
                del blocks[block.key]
                self.accounts[block.index].give(block)

    def __repr__(self):
        used = ", ".join(f"/gpu:{i} {bytes_in_words(self.account(i).allocated)}" for i in range(len(self.accounts)))
        return f"MemoryAccounts({used} of {bytes_in_words(self.accounts[0].total)} each, simulated)"


class Account:
    """One simulated GPU's memory: `total` bytes, `allocated` and its `peak`, `reserved` and its `peak_reserved`."""

    def __init__(self, total: int):
        self.total = self._limit = self._room = total
        self._held = 0  # bytes of CUDA graphs that no tensor of the program has
        self.allocated = self.peak = 0
        self.blocks = self.taken = self.blocks_taken = self.refused = 0  # the last three since the start
        self._used = dict.fromkeys(_SEGMENTS, 0)
        self._most = dict.fromkeys(_SEGMENTS, 0)  # since the cache was emptied
        self._peak_reserved = 0

    @property
    def limit(self) -> int:
        """Bytes that this process may use."""
        return self._limit

    @limit.setter
    def limit(self, nbytes: int) -> None:
        self._limit, self._room = nbytes, nbytes - self._held

    def hold(self, nbytes: int) -> None:
        """Keep `nbytes` more for a CUDA graph, fewer where it is negative."""
        self._held += nbytes
        self.limit = self._limit

    @property
    def reserved(self) -> int:
        """Bytes that PyTorch holds, used or kept for later: whole segments, up to the memory's end."""
        return min(self._in_segments(self._most) + self._held, self.total)

    @property
    def peak_reserved(self) -> int:
        """The most that was reserved at a time since the peaks were reset."""
        return max(self._peak_reserved, self.reserved)

    def fits(self, nbytes: int) -> bool:
        """Return whether `nbytes` more fit."""
        return self.allocated + nbytes <= self._room

    def take(self, block: "_Block") -> None:
        """Count `block`; raises torch.OutOfMemoryError when it doesn't fit."""
        nbytes = block.nbytes
        if self.allocated + nbytes > self._room:
            self.refused += 1
            raise self.full(nbytes, block.index)
        self.allocated += nbytes
        self.taken += nbytes
        self.blocks += 1
        self.blocks_taken += 1
        if self.allocated > self.peak:
            self.peak = self.allocated
        pool = "small" if nbytes <= _SMALL else _pool(nbytes)
        used = self._used[pool] = self._used[pool] + nbytes
        if used > self._most[pool]:
            self._most[pool] = used

    def give(self, block: "_Block") -> None:
        """Give `block` back; its bytes stay reserved."""
        nbytes = block.nbytes
        self.allocated -= nbytes
        self.blocks -= 1
        self._used["small" if nbytes <= _SMALL else _pool(nbytes)] -= nbytes

    def empty_cache(self) -> None:
        """Give back what is reserved and not used."""
        self._peak_reserved = self.peak_reserved
        self._most = dict(self._used)

    def reset_peak(self) -> None:
        """Start the peaks anew from what is used and reserved now."""
        self.peak, self._peak_reserved = self.allocated, 0

    def full(self, nbytes: int, index: int) -> torch.OutOfMemoryError:
        """Return the error of an allocation of `nbytes` that GPU `index` has no room for, in CUDA's words."""
        words, reserved = bytes_in_words, self.reserved
        _log.info("cuda:%d is full: no room for %s beside %s", index, words(nbytes), words(self.allocated))
        allowed = f"{words(self.limit)} allowed; " if self.limit < self.total else ""
        return torch.OutOfMemoryError(  # the text of CUDACachingAllocator.cpp, malloc
            f"CUDA out of memory. Tried to allocate {words(nbytes)}. GPU {index} has a total capacity of "
            f"{words(self.total)} of which {words(self.total - reserved)} is free. Including non-PyTorch memory, "
            f"this process has {words(reserved)} memory in use. {allowed}Of the allocated memory "
            f"{words(self.allocated)} is allocated by PyTorch, and {words(reserved - self.allocated)} is reserved by "
            "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
            "Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        )

    def stats(self) -> dict[str, Any]:
        """Return the counts as torch.cuda.memory_stats names them; its small and large pools are counted together."""

        def metric(current, peak, taken, freed):
            return {"all": {"current": current, "peak": peak, "allocated": taken, "freed": freed}}

        in_bytes = metric(self.allocated, self.peak, self.taken, self.taken - self.allocated)
        return {
            "allocated_bytes": in_bytes,
            "active_bytes": in_bytes,
            "reserved_bytes": metric(self.reserved, self.peak_reserved, self.reserved, 0),
            "allocation": metric(self.blocks, self.blocks, self.blocks_taken, self.blocks_taken - self.blocks),
            "num_ooms": self.refused,
            "num_alloc_retries": 0,
        }

    def summary(self, title: str) -> str:
        """Return what is allocated and reserved, now and at its peak, as a few lines under `title`."""
        rows = (("allocated", self.allocated, self.peak), ("reserved", self.reserved, self.peak_reserved))
        lines = [f"{name:<10}{bytes_in_words(current):>12}{bytes_in_words(peak):>12}" for name, current, peak in rows]
        heads = f"{'':<10}{'now':>12}{'peak':>12}"
        return "\n".join([title, heads, *lines, f"out of memory: {self.refused} times", ""])

    def _in_segments(self, pools):
        whole = sum(_up(nbytes, _SEGMENTS[pool]) for pool, nbytes in pools.items())
        return min(whole, self.total)


class Pool:
    """Memory of a CUDA graph: what its capture took at its peak, as long as there is the graph.

    `account` is that of its GPU; `settled()` returns it with all given back that has gone.
    """

    def __init__(self, account: Account, settled: Callable[[], Account]):
        self._settled = settled
        self._peak, account.peak = account.peak, account.allocated

    def hold(self) -> None:
        """Keep, at the capture's end, what it took for itself: the program's tensors are counted already."""
        account = self._settled()
        nbytes = account.peak - account.allocated
        account.peak = max(account.peak, self._peak)
        account.hold(nbytes)
        weakref.finalize(self, account.hold, -nbytes).atexit = False


class _Block(weakref.ref):
    """A storage on GPU `index`, watched: its `nbytes` in CUDA's steps, `key` its address."""

    __slots__ = ("index", "key", "nbytes")
    index: int
    key: int
    nbytes: int


def _pool(nbytes):
    return "small" if nbytes <= _SMALL else "middle" if nbytes < _MIDDLE else "large"


def _up(count, step):
    """Return `count` rounded up to whole steps."""
    return -(-count // step) * step
