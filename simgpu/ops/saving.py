"""Files: a simulated tensor is saved as torch saves one of CUDA, and read back where `map_location` says.

The file is an ordinary one, with `cuda:0` as the place of the numbers: it can be read on a machine with a GPU and,
with `map_location="cpu"`, on one without.
"""

import ctypes
import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.serialization import _package_registry, _validate_device, default_restore_location, register_package
from torch.storage import TypedStorage, UntypedStorage

from simgpu.replaced import replaced
from simgpu.state import Simulation


def reduced(tensor: torch.Tensor, numbers: torch.Tensor, attributes: dict[str, Any]) -> tuple:
    """Return what pickle writes for a simulated `tensor` whose values are `numbers`: what torch does for one of CUDA.

    `attributes` are those that a program has set on the tensor.
    """
    torch.utils.hooks.warn_if_has_hooks(tensor)
    storage = TypedStorage(wrap_storage=numbers.untyped_storage(), dtype=numbers.dtype, _internal=True)
    storage.__class__ = _SavedStorage  # the constructor takes a dtype for TypedStorage itself alone
    storage._fake_device = tensor.where  # torch.save writes this as the place
    parameter = isinstance(tensor, torch.nn.Parameter)
    needs_gradient = False if parameter else tensor.requires_grad
    place = (storage, numbers.storage_offset(), tuple(numbers.shape), numbers.stride())
    metadata = torch._utils.get_tensor_metadata(numbers)
    written = (
        torch._utils._rebuild_tensor_v2,
        (*place, needs_gradient, OrderedDict(), *([metadata] if metadata else [])),
    )
    if parameter:
        data = torch.Tensor.detach(tensor)
        written = (torch._utils._rebuild_parameter, (data, tensor.requires_grad, OrderedDict()))
        return (torch._utils._rebuild_parameter_with_state, (*written[1], attributes)) if attributes else written
    if attributes:
        return torch._tensor._rebuild_from_type_v2, (written[0], torch.Tensor, written[1], attributes)
    return written


class _SavedStorage(TypedStorage):
    """A storage on its way into a file. `torch.save` writes it by itself; plain pickle asks `__reduce__`."""

    def __reduce__(self):
        numbers = self._untyped_storage
        return _unpickled, (ctypes.string_at(numbers.data_ptr(), numbers.nbytes()), str(self._fake_device), self.dtype)


def _unpickled(numbers, place, dtype):
    storage = torch.frombuffer(bytearray(numbers), dtype=torch.uint8).untyped_storage() if numbers else UntypedStorage()
    return TypedStorage(wrap_storage=default_restore_location(storage, place), dtype=dtype, _internal=True)


class DeviceStorage(UntypedStorage):
    """The memory of numbers on a simulated device: `device` says which. A view of it that says so, not a copy."""

    where = torch.device("cpu")

    @property
    def device(self) -> torch.device:
        """The simulated device that the numbers are on."""
        return self.where

    @property
    def is_cuda(self) -> bool:
        """Whether they are on a simulated GPU."""
        return self.where.type == "cuda"

    def get_device(self) -> int:
        """Return the index of the device."""
        return self.where.index

    def cpu(self) -> UntypedStorage:
        """Return a copy on the CPU."""
        copied = UntypedStorage(self.nbytes())
        UntypedStorage.copy_(copied, self)
        return copied


class RestoredStorage(DeviceStorage):
    """Numbers read from a file for a simulated device."""


@contextmanager
def restored(simulation: Simulation) -> Iterator[None]:
    """Within the `with`, `torch.load` puts on the simulated devices what a file or `map_location` has there."""

    def deserialize(storage, location):
        if not re.match(r"cuda(:|$)", location):
            return None
        device = _validate_device(location, "cuda")
        placed = RestoredStorage(storage.nbytes())
        placed.copy_(storage)
        placed.where = simulation.place(device)
        simulation.clock.copy(None, device.index, storage.nbytes(), name="load")
        return placed

    def on_cuda(storage, device=None, non_blocking=False):
        index = torch.cuda.current_device() if device is None else device
        return deserialize(storage, f"cuda:{index}" if type(index) is int else str(torch.device(index)))

    entry = (15, _tag, deserialize)  # before torch's own for CUDA, which is at 20
    register_package(*entry)
    try:
        with replaced([(UntypedStorage, "cuda", on_cuda)]):  # `map_location=lambda storage, place: storage.cuda(1)`
            yield
    finally:
        _package_registry.remove(entry)


def _tag(storage):
    return f"cuda:{storage.where.index}" if isinstance(storage, DeviceStorage) else None
