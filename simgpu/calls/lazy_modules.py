"""Parameters and buffers without a shape yet, as lazy modules have them: they note where they will be made."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._device as default_device
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin

from simgpu.state import device_of


def is_unmade(tensor: torch.Tensor) -> bool:
    """Return whether `tensor` has no shape yet."""
    return isinstance(tensor, UninitializedTensorMixin)


def moved(tensor: Any, device: torch.device) -> Any:
    """Return `tensor`, of no shape yet, with a note that it will be made on `device`."""
    tensor.place = device
    return tensor


def lazily() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for what is replaced of tensors without a shape."""
    for cls in (UninitializedParameter, UninitializedBuffer):
        yield cls, "__new__", staticmethod(_new(cls.__new__))
        if hasattr(cls, "__deepcopy__"):
            yield cls, "__deepcopy__", _deepcopy(cls.__deepcopy__)
    yield UninitializedTensorMixin, "materialize", _materialize(UninitializedTensorMixin.materialize)
    yield UninitializedTensorMixin, "device", property(_place_of)
    yield UninitializedTensorMixin, "cpu", lambda self, memory_format=None: moved(self, torch.device("cpu"))
    # `module.to()` takes a parameter's place by way of these two.
    yield UninitializedTensorMixin, "detach", lambda self: self
    yield UninitializedTensorMixin, "requires_grad_", lambda self, requires_grad=True: self


def _place_of(tensor):
    return getattr(tensor, "place", None) or torch.Tensor.device.__get__(tensor)


def _new(original):
    def __new__(cls, *args, **kwargs):
        kwargs |= dict(zip(("requires_grad", "device", "dtype", "persistent"), args, strict=False))
        place = default_device.CURRENT_DEVICE if kwargs.get("device") is None else kwargs["device"]
        if place is None or device_of(place).type != "cuda":
            return original(cls, **kwargs)
        return moved(original(cls, **{**kwargs, "device": "cpu"}), device_of(place))

    return __new__


def _deepcopy(original):
    def __deepcopy__(self, memo):
        copied = original(self, memo)
        return moved(copied, self.device) if self.device.type == "cuda" else copied

    return __deepcopy__


def _materialize(original):
    def materialize(self, shape, device=None, dtype=None):
        place = device_of(getattr(self, "place", self.data.device) if device is None else device)
        if place.type != "cuda":
            return original(self, shape, place, dtype)
        tensor = torch.empty(shape, device=place, dtype=dtype or self.data.dtype)
        if isinstance(self, torch.nn.Parameter):
            tensor = torch.nn.Parameter(tensor, self.requires_grad)
        torch.utils.swap_tensors(self, tensor)

    return materialize
