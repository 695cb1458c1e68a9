"""Which simulation is active: one in a process, as it stands for the machine's hardware. The only hidden state."""

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from simgpu.session import SimulatedGPUs

_active: "SimulatedGPUs | None" = None


def active() -> "SimulatedGPUs | None":
    """Return the active `SimulatedGPUs`, or None."""
    return _active


def required() -> "SimulatedGPUs":
    """Return the active `SimulatedGPUs`; raises RuntimeError where none are."""
    if _active is None:
        raise RuntimeError("No simulated GPUs are active: start some by simulated_gpus().")
    return _active


def activate(simulation: "SimulatedGPUs | None") -> None:
    """Make `simulation` the active one, or none."""
    global _active
    _active = simulation


def device_of(device: "torch.device | str | int") -> torch.device:
    """Return `device` as a tensor on it would report it: `cuda` is the current device, with its index.

    Raises CUDA's error for an index that no simulated GPU has.
    """
    device = torch.device("cuda", device) if type(device) is int else torch.device(device)
    return device if device.type != "cuda" or _active is None else _active.place(device)
