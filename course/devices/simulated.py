"""Simulated GPUs as the course has them: models by its traces' names, its own devices, lanes in its colours."""

from collections.abc import Callable
from dataclasses import asdict

import psutil

import simgpu
from course.devices.device_list import Device, as_devices
from course.draw import Picture, lanes
from course.traces import DataSheet, Trace, load_trace, names
from simgpu import DeviceModel, calibrate
from simgpu.models.card import is_card, is_path, read_card
from simgpu.models.catalogue import nearest


def model_for(model: "str | DataSheet | Trace | DeviceModel") -> DeviceModel:
    """Return the `DeviceModel` meant by a name ("H200", "T4", a trace's), a `DataSheet`, a `Trace` or a `DeviceModel`.

    A name that ends in .json is a file's: a trace, or a card that `simgpu calibrate` wrote. A data sheet's figures are
    taken as they are; a trace is fitted by `calibrate`. Raises ValueError for an unknown name, TypeError for all else.

    >>> model_for("H200")
    DeviceModel('H200', modelled: NVIDIA H200 SXM data sheet, not measured)
    """
    if isinstance(model, DeviceModel):
        return model
    if isinstance(model, DataSheet):
        return DeviceModel.from_data_sheet(asdict(model))
    if isinstance(model, Trace):
        return calibrate(model)
    if not isinstance(model, str):
        raise TypeError(f"model={model!r}: give a name such as 'H200', a DataSheet, a Trace or a DeviceModel.")
    if is_path(model) and is_card(model):
        return read_card(model)
    available = names()
    for name in (model, f"{model.lower().replace(' ', '')}-data-sheet"):
        if name in available or name.endswith(".json"):
            return model_for(load_trace(name))
    short = [name.removesuffix("-data-sheet").upper() for name in available if name.endswith("-data-sheet")]
    traces = [name for name in available if not name.endswith("-data-sheet")]
    raise ValueError(
        f"model={model!r}: no data sheet and no trace by that name. {nearest(model.upper(), short)}"
        f"Use {', '.join(short)} (data sheets), "
        f"{', '.join(traces)} (recorded), or the path of a trace of your own that ends in .json."
    )


class ModelledClock(simgpu.ModelledClock):
    """simgpu's clock, with pictures in the course's colours."""

    def picture(self, title: str = "", since: float = 0.0, until: float = float("inf")) -> Picture:
        """Return a `Picture` of the lanes between two moments in modelled seconds: who was busy, and with what."""
        return lanes(self.spans_between(since, until), (), title, self.model.label)


class SimulatedGPUs(simgpu.SimulatedGPUs):
    """`count` simulated GPUs of `model` (a `DeviceModel`), active until `close()` or the end of a `with`.

    `clock` is the `ModelledClock`, `memory` the accounts of every device, `devices` the course's own list of them.
    """

    find_model: Callable[..., DeviceModel] = staticmethod(model_for)
    clock_class: type[simgpu.ModelledClock] = ModelledClock

    @property
    def devices(self) -> list[Device]:
        """The simulated devices as course `Device`s."""
        return as_devices(self)

    @staticmethod
    def free_of_system() -> int:
        """Return the bytes that the system can still give; known on every platform."""
        return psutil.virtual_memory().available


def simulated_gpus(count: int = 1, model: "str | DataSheet | Trace | DeviceModel" = "H200") -> SimulatedGPUs:
    """Start `count` simulated GPUs and return them as `SimulatedGPUs`.

    From now on this process's PyTorch programs find `cuda:0` to `cuda:{count-1}`, as on a machine that has them: values
    are the CPU's, devices, errors and their words are CUDA's, and `.clock` keeps modelled seconds, never measured ones.
    `model` names what is modelled: a data sheet or trace ("H200", "T4"), a `Trace`, a `DataSheet`. Use it in a `with`,
    or over several cells and then `.close()`; afterwards its tensors refuse every use. One at a time in a process. A
    real GPU is hidden meanwhile. `simgpu.simulated_gpus` says more: of memory, other threads, compiled functions,
    random numbers, and what is refused. Raises ValueError for a count below 1 or above 128, RuntimeError while another
    is active.

    >>> import torch
    >>> with simulated_gpus(2) as gpus:
    ...     x = torch.ones(2, device="cuda:1") * 3
    >>> x.device
    device(type='cuda', index=1)
    """
    return SimulatedGPUs(count, model)
