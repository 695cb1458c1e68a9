"""Simulated GPUs: PyTorch programs with `device="cuda:0"` in them run on a machine that has none."""

from course.devices.simulated.session import SimulatedGPUs, simulated_gpus
from course.devices.simulated.tensor import SimulatedTensor

__all__ = ["SimulatedGPUs", "SimulatedTensor", "simulated_gpus"]
