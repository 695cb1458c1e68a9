"""Simulated GPUs: PyTorch programs with `device="cuda:0"` in them run on a machine that has none."""

from simgpu.calibration import calibrate, errors
from simgpu.models import DeviceModel, model_for
from simgpu.session import SimulatedGPUs, simulated_gpus
from simgpu.tensor import SimulatedTensor

__all__ = [
    "DeviceModel",
    "SimulatedGPUs",
    "SimulatedTensor",
    "calibrate",
    "errors",
    "model_for",
    "simulated_gpus",
]
