"""Which devices there are, how many, and which is a thread's current one: the simulated driver."""

import threading

import torch

from simgpu.clock.modelled_clock import ModelledClock
from simgpu.cuda.device_properties import DeviceProperties, properties_of
from simgpu.memory.accounts import Account, MemoryAccounts
from simgpu.messages import IN_FORK, INVALID_ORDINAL
from simgpu.state import in_bad_fork


class Driver:
    """Answers for the GPUs of `clock` and `memory`; the current device is a thread's own, as in CUDA, from 0 on."""

    def __init__(self, clock: ModelledClock, memory: MemoryAccounts):
        self.clock = clock
        self.memory = memory
        self._mine = threading.local()

    def count(self) -> int:
        """Return how many devices there are."""
        return self.clock.count

    def current(self) -> int:
        """Return the index of this thread's current device."""
        return getattr(self._mine, "index", 0)

    def use(self, index: int) -> int:
        """Make `index` this thread's current device; return the one before. A negative index changes nothing."""
        if in_bad_fork():
            raise RuntimeError(IN_FORK)
        before = self.current()
        if index >= 0:
            self._mine.index = self.legal(index)
        return before

    def legal(self, index: int) -> int:
        """Return `index`; raises CUDA's error when there is no such device."""
        if index >= self.count():
            raise torch.AcceleratorError(INVALID_ORDINAL)
        return index

    def exchange(self, index: int) -> int:
        """Change to `index` and return the device before, or -1 when there was nothing to change."""
        return -1 if index < 0 else self.use(index)

    def wait(self, index: int | None = None) -> None:
        """Wait for a device, the current one when no index is given."""
        self.clock.synchronize(self.legal(self.current() if index is None else index))

    def account(self, index: int) -> Account:
        """Return the memory account of a device, the current one for -1."""
        return self.memory.account(self.legal(self.current() if index < 0 else index))

    def free_and_total(self, index: int) -> tuple[int, int]:
        """Return the unreserved bytes and all bytes, as cudaMemGetInfo does."""
        account = self.account(index)
        return account.total - account.reserved, account.total

    def limit(self, fraction: float, index: int) -> None:
        """Let this process use `fraction` of a device's memory."""
        account = self.account(index)
        account.limit = int(fraction * account.total)

    def properties(self, index: int) -> DeviceProperties:
        """Return the properties of a device, as torch.cuda.get_device_properties does."""
        return properties_of(self.clock.model, self.legal(index))

    def empty_cache(self) -> None:
        """Give back what is reserved and unused on every device."""
        for index in range(self.count()):
            self.account(index).empty_cache()
