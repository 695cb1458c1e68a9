"""The simulated driver: the C functions behind torch.cuda and torch.accelerator, answered for simulated GPUs.

torch's own Python runs on top of them, reads the arguments and gives its own errors, so that a function imported by
name before the simulation (`from torch.cuda import is_available`) answers for it too.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import torch

from simgpu.clock.modelled_clock import ModelledClock
from simgpu.memory.accounts import Account, MemoryAccounts
from simgpu.messages import in_fork, invalid_ordinal
from simgpu.models.device_model import DeviceModel
from simgpu.state import in_bad_fork

# hardware, as its data sheet names it -> compute capability, multiprocessors. NVIDIA's list of compute capabilities
# (developer.nvidia.com/cuda-gpus) and the white papers of the architectures: B200 148, H200 and H100 SXM 132, RTX 4090
# 128, A100 108, L4 58, T4 40.
_KNOWN = {
    "B200": ((10, 0), 148),
    "H200": ((9, 0), 132),
    "H100": ((9, 0), 132),
    "4090": ((8, 9), 128),
    "A100": ((8, 0), 108),
    "L4": ((8, 9), 58),
    "T4": ((7, 5), 40),
}


class Driver:
    """Answers for the GPUs of `clock` and `memory`; the current device is a thread's own, as in CUDA, from 0 on."""

    def __init__(self, clock: ModelledClock, memory: MemoryAccounts):
        self.clock = clock
        self.memory = memory
        self._mine = threading.local()

    def current(self) -> int:
        """Return the index of this thread's current device."""
        return getattr(self._mine, "index", 0)

    def use(self, index: int) -> int:
        """Make `index` this thread's current device; return the one before. A negative index changes nothing."""
        if in_bad_fork():
            raise RuntimeError(in_fork())
        before = self.current()
        if index >= 0:
            self._mine.index = self.legal(index)
        return before

    def legal(self, index: int) -> int:
        """Return `index`; raises CUDA's error when there is no such device."""
        if index >= self.clock.count:
            raise torch.AcceleratorError(invalid_ordinal())
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
        """Return the bytes that no one reserves and all bytes: what cudaMemGetInfo tells."""
        account = self.account(index)
        return account.total - account.reserved, account.total

    def limit(self, fraction: float, index: int) -> None:
        """Let this process use `fraction` of a device's memory."""
        account = self.account(index)
        account.limit = int(fraction * account.total)

    def properties(self, index: int) -> "DeviceProperties":
        """Return what torch.cuda.get_device_properties tells of a device."""
        return properties_of(self.clock.model, self.legal(index))

    def empty_cache(self) -> None:
        """Give back what is reserved and unused on every device."""
        for index in range(self.clock.count):
            self.account(index).empty_cache()


def c_functions(driver: Driver) -> dict[str, Callable]:
    """Return torch._C's functions for CUDA and for accelerators as name -> function of the simulated driver."""
    cuda: dict[str, Callable] = {
        "init": lambda: None,
        "isInBadFork": in_bad_fork,
        "getDeviceCount": lambda: driver.clock.count,
        "getDevice": driver.current,
        "setDevice": driver.use,
        "exchangeDevice": driver.exchange,
        "maybeExchangeDevice": driver.exchange,
        "synchronize": driver.wait,
        "canDeviceAccessPeer": lambda device, peer: device != peer,
        "getArchFlags": lambda: "sm_{}{}".format(*driver.properties(0).capability),
        "getAllocatorBackend": lambda: "native",
        "memoryStats": lambda index: driver.account(index).stats(),
        "resetPeakMemoryStats": lambda index: driver.account(index).reset_peak(),
        "resetAccumulatedMemoryStats": lambda index: None,
        "emptyCache": driver.empty_cache,
        "setMemoryFraction": driver.limit,
        "getMemoryFraction": lambda index: driver.account(index).limit / driver.account(index).total,
        "getCurrentRawStream": _no_raw_stream,
        "ipc_collect": lambda: None,
        "get_sync_debug_mode": lambda: 0,
    }
    accelerator: dict[str, Callable] = {
        "emptyCache": driver.empty_cache,
        "resetAccumulatedStats": lambda index: None,
        "getAccelerator": lambda: torch.device("cuda"),
        "getDeviceIndex": driver.current,
        "setDeviceIndex": driver.use,
        "exchangeDevice": driver.exchange,
        "maybeExchangeDevice": driver.exchange,
        "synchronizeDevice": driver.wait,
        "isAllocatorInitialized": lambda: True,
        "getDeviceStats": lambda index: driver.account(index).stats(),
        "resetPeakStats": lambda index: driver.account(index).reset_peak(),
        "getMemoryInfo": driver.free_and_total,
        "getStream": lambda index: torch.cuda.current_stream(index),
        "setStream": lambda stream: torch.cuda.set_stream(stream),
        "emptyHostCache": lambda: None,
    }
    return (
        {"_get_accelerator": lambda check=None: torch.device("cuda")}
        | {"_host_emptyCache": lambda: None}
        | {f"_cuda_{name}": function for name, function in cuda.items()}
        | {f"_accelerator_{name}": function for name, function in accelerator.items()}
    )


def _no_raw_stream(index):
    # torch's compiler imports it by name as soon as there is CUDA, and calls it only in compiled code.
    raise RuntimeError("torch.compile on simulated GPUs: compiled code needs real ones. Run the function uncompiled.")


def runtime(driver: Driver) -> SimpleNamespace:
    """Return the part of the CUDA runtime library that torch's Python calls: torch.cuda.cudart()."""
    return SimpleNamespace(
        cudaMemGetInfo=driver.free_and_total,
        cudaProfilerStart=lambda: 0,
        cudaProfilerStop=lambda: 0,
        cudaError=SimpleNamespace(success=0),
        cudaGetErrorString=lambda code: f"simulated CUDA error {code}",
    )


@dataclass(frozen=True)
class DeviceProperties:
    """Name, compute capability, memory in bytes and number of multiprocessors of a simulated GPU.

    `major`, `minor` and `multi_processor_count` are 0 where the model doesn't say which hardware it stands for.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = ""  # torch's name; asked for by programs that also run on AMD's GPUs

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor number of the compute capability."""
        return self.major, self.minor

    def __repr__(self):
        memory, count = self.total_memory // 2**20, self.multi_processor_count
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={memory}MB, multi_processor_count={count}, simulated)"
        )


def properties_of(model: DeviceModel, index: int) -> DeviceProperties:
    """Return the `DeviceProperties` of simulated GPU `index` of a `DeviceModel`: the same for every index."""
    words = model.hardware.replace("-", " ").split()
    known = next((known for word, known in _KNOWN.items() if word in words), ((0, 0), 0))
    (major, minor), count = (model.capability, model.multiprocessors) if any(model.capability) else known
    return DeviceProperties(f"{model.hardware} (simulated)", major, minor, model.memory, count)
