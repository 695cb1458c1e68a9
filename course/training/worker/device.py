"""Where a worker computes: on a device of its own task, to which parameters and batches go, and gradients come back."""

from collections.abc import Mapping
from typing import Any

import torch

from course.devices import Device, DeviceName, list_devices
from course.training.problems.problem import Problem


def checked_device(device: str | None) -> str | None:
    """Return a device's name as `/gpu:0`, None for None; ValueError unless it is a device, and not one task's."""
    if device is None:
        return None
    try:
        name = DeviceName.parse(device)
    except ValueError as error:
        raise ValueError(f"train(device={device!r}): {error}") from None
    if name.kind is None or name.task is not None or name.job not in (None, "worker"):
        raise ValueError(
            f"train(device={device!r}): every worker computes on a device of its own task, so give the device's part "
            'alone: device="/gpu:0", or "/cpu:0".'
        )
    return str(name.local)


def own_device(device: str) -> Device:
    """Return this process's `Device` called `device`; ValueError with those that there are."""
    return found_in(list_devices(), device, "this worker")


def found_in(devices: list[Device], device: str, worker: str) -> Device:
    """Return the one of `worker`'s `devices` whose name ends in `device`; ValueError when there is none."""
    for own in devices:
        if own.name.endswith(device):
            return own
    names = ", ".join(f"{own.name}{' (simulated)' if own.simulated else ''}" for own in devices)
    raise ValueError(
        f"train(device={device!r}): {worker} has {names}. Use one that every worker has, or practise with simulated "
        "GPUs: local_cluster(ps=1, worker=2, simulated_gpus=1), or --simulated-gpus 1 on the command line."
    )


class DeviceLeaves:
    """The parameters that a gradient is computed at, on `device`: copies of `received`, or these themselves on the CPU.

    `received`: name to tensor on the CPU, which change in place between two gradients. `values`: name to leaf.
    """

    def __init__(self, received: Mapping[str, torch.Tensor], device: str | None):
        self._received, self._name = received, device
        self._device = DeviceName.parse(device or "/cpu:0").torch
        self._on_cpu = self._device.type == "cpu"
        if not self._on_cpu:
            received = {name: torch.empty_like(value, device=self._device) for name, value in received.items()}
        self.values = {name: leaf.requires_grad_() for name, leaf in received.items()}

    def gradient(self, problem: Problem, batch: Any) -> tuple[float, tuple[torch.Tensor, ...]]:
        """Return the loss on `batch` and its gradients, in the order of `values`, where they were computed."""
        if not self._on_cpu:
            with torch.no_grad():
                for name, leaf in self.values.items():
                    leaf.copy_(self._received[name])
            batch = moved(batch, self._device)
        try:
            loss = problem.loss(self.values, batch)
            return loss.item(), torch.autograd.grad(loss, list(self.values.values()))
        except RuntimeError as error:
            if self._on_cpu or "same device" not in str(error):
                raise
            raise RuntimeError(
                f"{error} With train(device={self._name!r}) the parameters and the batch are there; whatever else "
                "`loss` uses must be too: make it in `batch`, or on the device of a parameter."
            ) from error


def moved(batch: Any, device: torch.device) -> Any:
    """Return `batch` with its tensors on `device`: a tensor, lists, tuples and dicts of them, or what has a `.to`."""
    if isinstance(batch, dict):
        return {name: moved(value, device) for name, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        items = [moved(value, device) for value in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)
    return batch.to(device) if callable(getattr(batch, "to", None)) else batch
