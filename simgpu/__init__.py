"""Simulated GPUs: PyTorch programs with `device="cuda:0"` in them run on a machine that has none.

>>> import simgpu, torch
>>> with simgpu.simulated_gpus(2):
...     print((torch.ones(2, device="cuda:1") * 3).device)
cuda:1

Needs torch alone. Importing it is light: a name's module, and torch with it, is loaded when first used.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simgpu.clock.five_stopwatches import stopwatches as stopwatches
    from simgpu.clock.modelled_clock import ModelledClock as ModelledClock
    from simgpu.models.calibration import calibrate as calibrate
    from simgpu.models.catalogue import model_for as model_for
    from simgpu.models.device_model import DeviceModel as DeviceModel
    from simgpu.models.fit_errors import errors as errors
    from simgpu.models.op_seconds import Work as Work
    from simgpu.ops.flops_and_bytes import work_of as work_of
    from simgpu.session import SimulatedGPUs as SimulatedGPUs
    from simgpu.session import simulated_gpus as simulated_gpus
    from simgpu.simulated_tensor import SimulatedTensor as SimulatedTensor
    from simgpu.state import active as active

# If the environment asks for GPUs, importing torch starts them, which imports modules of simgpu: torch comes first.
if os.environ.get("SIMGPU_GPUS") and "torch" not in sys.modules:
    import_module("torch")

_HOME = {
    "simulated_gpus": "simgpu.session",  # starts some
    "SimulatedGPUs": "simgpu.session",
    "active": "simgpu.state",  # those that are open now
    "SimulatedTensor": "simgpu.simulated_tensor",
    "model_for": "simgpu.models.catalogue",  # "H200" -> its `DeviceModel`
    "DeviceModel": "simgpu.models.device_model",
    "calibrate": "simgpu.models.calibration",  # a recorded trace -> its `DeviceModel`
    "errors": "simgpu.models.fit_errors",
    "Work": "simgpu.models.op_seconds",  # operations and bytes of an op
    "work_of": "simgpu.ops.flops_and_bytes",
    "ModelledClock": "simgpu.clock.modelled_clock",
    "stopwatches": "simgpu.clock.five_stopwatches",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'simgpu' has no {name!r}; its names are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
