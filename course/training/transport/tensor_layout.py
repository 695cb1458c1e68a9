"""Which tensors a frame holds: their names, shapes and dtypes, and where each lies in a buffer."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch


@dataclass(frozen=True)
class Layout:
    """Names, shapes and dtypes of the tensors in a frame, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, parameters: dict[str, torch.Tensor]) -> "Layout":
        """Return the layout of `parameters`, name to tensor."""
        shapes = tuple(tuple(value.shape) for value in parameters.values())
        return cls(tuple(parameters), shapes, tuple(str(value.dtype) for value in parameters.values()))

    def as_json(self) -> list:
        """Return the layout as lists that JSON can hold."""
        return [self.names, self.shapes, self.dtypes]

    @property
    def nbytes(self) -> int:
        """The number of bytes that the tensors take in a buffer."""
        return sum(_padded(prod(shape), _dtype(dtype)) for shape, dtype in zip(self.shapes, self.dtypes, strict=True))

    def part(self, names: Sequence[str]) -> "Layout":
        """Return the layout of these names only, in this order."""
        at = [self.names.index(name) for name in names]
        return Layout(tuple(names), tuple(self.shapes[i] for i in at), tuple(self.dtypes[i] for i in at))

    def over(self, buffer: bytearray | memoryview, start: int) -> dict[str, torch.Tensor]:
        """Return name to tensor, each a view of its part of `buffer`, from byte `start` on."""
        views, at = {}, start
        for name, shape, dtype in zip(self.names, self.shapes, map(_dtype, self.dtypes), strict=True):
            count = prod(shape)
            whole = (
                torch.frombuffer(buffer, dtype=dtype, count=count, offset=at) if count else torch.empty(0, dtype=dtype)
            )
            views[name] = whole.reshape(shape)
            at += _padded(count, dtype)
        return views


def _padded(count, dtype):
    return -(-count * dtype.itemsize // 8) * 8  # every tensor lies on a multiple of 8 bytes


def _dtype(name):
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"a frame's layout names dtype {name!r}, which this PyTorch does not have.")
    return found
