"""Simulated GPUs: PyTorch programs with `device="cuda:0"` in them run on a machine that has none."""

from course.devices.simulated.calibration import calibrate, errors
from course.devices.simulated.models import DeviceModel, model_for
from course.devices.simulated.session import SimulatedGPUs, simulated_gpus
from course.devices.simulated.tensor import SimulatedTensor

__all__ = [
    "DeviceModel",
    "SimulatedGPUs",
    "SimulatedTensor",
    "calibrate",
    "errors",
    "model_for",
    "simulated_gpus",
]
