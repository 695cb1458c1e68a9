"""Stand-ins for classes of torch's C++ that know no simulated device: `torch.device(1)`, `torch.cuda.FloatTensor`."""

from collections.abc import Iterator
from typing import Any

import torch

_DEVICE = torch.device
_KINDS = {
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Short": torch.int16,
    "Char": torch.int8,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}


class StandIn(type):
    """The metaclass of a class that stands for `original`, one of torch's: the original's instances are its own."""

    original: type

    def __instancecheck__(cls, value):
        return isinstance(value, cls.original)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.original)


class _StandInOfDevice(StandIn):
    def __eq__(cls, other):
        return other is cls or other is _DEVICE

    def __hash__(cls):
        return hash(_DEVICE)


class Device(metaclass=_StandInOfDevice):
    """What `torch.device` is while GPUs are simulated: makes torch's own, and takes a bare index for one of CUDA."""

    original = _DEVICE

    def __new__(cls, *args, **kwargs):
        if len(args) == 1 and type(args[0]) is int and not kwargs:
            return _DEVICE("cuda", *args)
        return _DEVICE(*args, **kwargs)


Device.__module__, Device.__name__, Device.__qualname__ = "torch", "device", "device"  # how it is written into a file


class _OfCuda(type):
    def __instancecheck__(cls, value):
        return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype is cls.dtype

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _new_tensor(cls, *args, device=None):
    """Return a tensor as the old constructors do: of a size, of a sequence's numbers, or empty."""
    device = "cuda" if device is None else device
    if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
        return torch.tensor(args[0], dtype=cls.dtype, device=device)
    return torch.empty(*(args or (0,)), dtype=cls.dtype, device=device)


def classes() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for every class of torch that has a stand-in."""
    yield torch, "device", Device
    for name, dtype in _KINDS.items():
        names = {
            "__new__": _new_tensor,
            "__module__": "torch.cuda",
            "dtype": dtype,
            "is_cuda": True,
            "is_sparse": False,
        }
        yield torch.cuda, f"{name}Tensor", _OfCuda(f"{name}Tensor", (), names)
