"""The C functions behind torch.cuda and torch.accelerator, answered for simulated GPUs by their driver.

torch's own Python runs on top of them, reads the arguments and gives its own errors, so that a function imported by
name before the simulation (`from torch.cuda import is_available`) answers for it too.
"""

from collections.abc import Callable
from types import SimpleNamespace

import torch

from simgpu.cuda.devices import Driver
from simgpu.state import in_bad_fork


def c_functions(driver: Driver) -> dict[str, Callable]:
    """Return torch._C's functions for CUDA and for accelerators as name -> function of the simulated driver."""
    cuda: dict[str, Callable] = {
        "init": lambda: None,
        "isInBadFork": in_bad_fork,
        "getDeviceCount": driver.count,
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
