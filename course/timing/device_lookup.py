"""The device that an argument means: a name, a `torch.device`, or the home of the tensors; and its name in words."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from course.devices import DeviceName, list_devices
from simgpu.state import Simulation, active


@dataclass(frozen=True)
class Place:
    """A device of this machine: `name` (`/gpu:0`), `device` as torch has it, `hardware` in words.

    `simulation` is the `SimulatedGPUs` it belongs to, None for a device that is really here.
    """

    name: str
    device: torch.device
    hardware: str
    simulation: Simulation | None = None

    @property
    def kind(self) -> str:
        """The kind of seconds on it: "measured", or "modelled" where no such hardware is here."""
        return "modelled" if self.simulation else "measured"

    @property
    def origin(self) -> str:
        """Where its figures come from, in words."""
        return self.simulation.model.origin if self.simulation else self.hardware


def find_device(device: str | torch.device | DeviceName | None = None, args: Iterable[object] = ()) -> Place:
    """Return the `Place` meant by `device`, or the home of the first tensor in `args`, or the CPU.

    Raises ValueError when `device` is no name, or when this machine has no such device.
    """
    if device is None:
        device = next((a.device for a in args if isinstance(a, torch.Tensor)), "cpu")
    name = str(DeviceName.parse(device))
    here = {d.name: d for d in list_devices()}
    if name not in here:
        gpu = "torch finds no GPU it can use here. " if name.startswith("/gpu") and len(here) == 1 else ""
        raise ValueError(
            f"device={str(device)!r} is not on this machine; it has {', '.join(here)}. {gpu}"
            f"Use {' or '.join(here)}, practise with simulated_gpus(), or look at what other machines took: "
            "course.traces.names()."
        )
    simulation = active() if here[name].simulated else None
    return Place(name, DeviceName.parse(name).torch, here[name].description, simulation)
