"""How a step's tensors lie in a buffer: one after the other, as raw bytes; where all are of one dtype, one vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy
import torch

_LINE = 64  # bytes: what a processor reads at once


class Tensors(dict[str, torch.Tensor]):
    """Name to tensor, each a view of one buffer. `flat`: all of the buffer as one vector; None where dtypes differ.

    Between two tensors there may be a number that belongs to none. `layout`: what lies where.
    """

    layout: "Layout"
    flat: torch.Tensor | None = None


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

    def over(self, buffer: bytearray | memoryview, start: int) -> Tensors:
        """Return name to tensor, each a view of its part of `buffer`, from byte `start` on."""
        views, at = Tensors(), start
        for name, shape, dtype in zip(self.names, self.shapes, map(_dtype, self.dtypes), strict=True):
            count = prod(shape)
            whole = (
                torch.frombuffer(buffer, dtype=dtype, count=count, offset=at) if count else torch.empty(0, dtype=dtype)
            )
            views[name] = whole.reshape(shape)
            at += _padded(count, dtype)
        views.layout = self
        if len(set(self.dtypes)) == 1 and at > start:
            dtype = _dtype(self.dtypes[0])
            views.flat = torch.frombuffer(buffer, dtype=dtype, count=(at - start) // dtype.itemsize, offset=start)
        return views

    def parts(self, flat: torch.Tensor) -> Tensors:
        """Return name to tensor, each a view of its part of `flat`: a vector as `over` gives, all of one dtype."""
        views, at = Tensors(), 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            count = prod(shape)
            views[name] = flat[at : at + count].view(shape)
            at += _padded(count, flat.dtype) // flat.itemsize
        views.layout, views.flat = self, flat
        return views


def new_tensors(like: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return copies of these tensors: `Tensors` where all are in the CPU's memory, beginning at a cache line."""
    if not all(value.device.type == "cpu" for value in like.values()):
        return {name: value.detach().clone() for name, value in like.items()}
    layout = Layout.of(like)
    memory = numpy.zeros(layout.nbytes + _LINE, numpy.uint8)
    start = -memory.ctypes.data % _LINE
    copies = layout.over(memory.data, start)
    for name, value in like.items():
        copies[name].copy_(value.detach())
    return copies


def _padded(count, dtype):
    return -(-count * dtype.itemsize // 8) * 8  # every tensor lies on a multiple of 8 bytes


def _dtype(name):
    dtype = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"a frame's layout names dtype {name!r}, which this PyTorch does not have.")
    return dtype
