"""Which simulation is active: one in a process, as it stands for the machine's hardware. The only hidden state."""

import os
from typing import Any, Protocol

import torch

from simgpu.clock.modelled_clock import ModelledClock
from simgpu.memory.accounts import MemoryAccounts
from simgpu.messages import IN_FORK, closed
from simgpu.models.device_model import DeviceModel


class Simulation(Protocol):
    """What the parts of a simulation use of the whole, a `SimulatedGPUs`."""

    count: int
    model: DeviceModel
    clock: ModelledClock
    memory: MemoryAccounts
    places: list[torch.device]
    tensor_class: type  # of its tensors, `SimulatedTensor`: it stands above all that makes one
    driver: Any  # `cuda.devices.Driver`, and `cuda.generators.Randomness`: that room stands on this one
    randomness: Any
    closed: bool
    forked: bool  # in a child of a process that used them, where CUDA can't go on
    as_usual: bool  # open, its context not lost, no CUDA graph being captured: each op is done at once
    context: Any  # `context.context.Context`

    def place(self, device: torch.device) -> torch.device:
        """Return the one object that stands for `device`, of type cuda, on tensors here."""


_active: Simulation | None = None
_watching = False  # a handler of forks can't be taken back


def active() -> Simulation | None:
    """Return the active `SimulatedGPUs`, or None."""
    return _active


def required() -> Simulation:
    """Return the active `SimulatedGPUs`; raises RuntimeError where none are."""
    if _active is None:
        raise RuntimeError("No simulated GPUs are active: start some by simulated_gpus().")
    return opened(_active)


def activate(simulation: Simulation | None) -> None:
    """Make `simulation` the active one, or none."""
    global _active, _watching
    _active = simulation
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
        _watching = True


def _forked():
    if _active is not None and any(account.blocks_taken for account in _active.memory.accounts):
        _active.closed = _active.forked = True
        _active.as_usual = False


def in_bad_fork() -> bool:
    """Return whether this process was forked by one that had used the active simulation's GPUs."""
    return _active is not None and _active.forked


def opened(simulation: Simulation) -> Simulation:
    """Return `simulation`; raises RuntimeError when it is closed, and CUDA's in a child that can't use it.

    Raises torch.AcceleratorError when its context is lost.
    """
    if not simulation.as_usual:
        if simulation.closed:
            raise RuntimeError(IN_FORK if simulation.forked else closed(simulation))
        simulation.context.check()
    return simulation


def device_of(device: "torch.device | str | int") -> torch.device:
    """Return `device` as a tensor on it would report it: `cuda` is the current device, with its index.

    Raises CUDA's error for an index that no simulated GPU has.
    """
    device = torch.device("cuda", device) if type(device) is int else torch.device(device)
    return device if device.type != "cuda" or _active is None else opened(_active).place(device)
