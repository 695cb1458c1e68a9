"""Tensors of other classes that wrap simulated ones: DTensors, quantised ones, a program's own.

To C++ they are on the CPU, as simulated tensors are: one of cuda ends the process in autograd, on a build without CUDA.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from simgpu.replaced import replaced
from simgpu.state import device_of

_CLAIM = "simulated_device"  # the attribute in which such a tensor keeps the device that its class gave it


@contextmanager
def wrappers() -> Iterator[None]:
    """Within the `with`, tensors that wrap simulated ones say that they are on the device of these."""
    added: dict[type, dict[str, Any]] = {}  # class -> the attributes that were added to it
    changes: list = [(Tensor, "_make_wrapper_subclass", staticmethod(_making(Tensor._make_wrapper_subclass, added)))]
    if torch.distributed.is_available():
        mesh = torch.distributed.device_mesh.DeviceMesh
        changes.append((mesh, "__init__", _meshed(mesh.__init__, added)))
    try:
        with replaced(changes):
            yield
    finally:
        for cls, names in added.items():
            for name in names:
                delattr(cls, name)


def _making(original, added):
    @functools.wraps(original)
    def make(cls, size, *args, **options):
        device = options.get("device")
        if device is None or (place := device_of(device)).type != "cuda":
            return original(cls, size, *args, **options)
        tensor = original(cls, size, *args, **{**options, "device": "cpu"})
        setattr(tensor, _CLAIM, place)
        _add_device(cls, lambda self: self.__dict__.get(_CLAIM), added)
        return tensor

    return make


def _meshed(original, added):
    """Return a mesh's `__init__`: its program will make DTensors, and their C++ reads the device in C++."""

    @functools.wraps(original)
    def init(self, device_type, *args, **options):
        original(self, device_type, *args, **options)
        if device_type == "cuda":
            from torch.distributed.tensor import DTensor

            _add_device(DTensor, lambda tensor: tensor._local_tensor.device, added)

    return init


def _add_device(cls: type, where_of: Callable[[Any], torch.device | None], added: dict) -> None:
    """Add to `cls` the device attributes that it doesn't define, by `where_of(tensor)`; None: as C++ answers."""
    if cls in added:
        return
    added[cls] = {}

    def place(tensor):
        where = where_of(tensor)
        return Tensor.device.__get__(tensor) if where is None else where

    answers = {
        "device": property(place),
        "is_cuda": property(lambda tensor: place(tensor).type == "cuda"),
        "is_cpu": property(lambda tensor: place(tensor).type == "cpu"),
        "get_device": lambda tensor: -1 if place(tensor).index is None else place(tensor).index,
    }
    for name, answer in answers.items():
        if getattr(cls, name) is getattr(Tensor, name):
            added[cls][name] = answer
            setattr(cls, name, answer)
