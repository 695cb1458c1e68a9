"""Copies from one device to several and back: what torch's `scatter`, `gather`, `broadcast` call in C++."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_HOST = -1  # torch's index of the CPU


def c_functions() -> dict[str, Any]:
    """Return name -> function of torch._C's, which a build for the CPU has not."""
    return {
        "_scatter": scatter,
        "_scatter_out": scatter_out,
        "_gather": gather,
        "_gather_out": gather_out,
        "_broadcast": broadcast,
        "_broadcast_out": broadcast_out,
        "_broadcast_coalesced": broadcast_coalesced,
    }


def scatter(
    tensor: Tensor, devices: Sequence[int], chunk_sizes: Sequence[int] | None, dim: int, streams: Any = None
) -> tuple[Tensor, ...]:
    """Return the parts of `tensor` along `dim`, each on its device."""
    parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(part.to(_place(index), non_blocking=True) for part, index in zip(parts, devices, strict=False))


def scatter_out(tensor: Tensor, out: Sequence[Tensor], dim: int, streams: Any = None) -> tuple[Tensor, ...]:
    """Write the parts of `tensor` along `dim`, as long as those of `out`, into them."""
    for part, place in zip(tensor.split([target.size(dim) for target in out], dim), out, strict=True):
        place.copy_(part, non_blocking=True)
    return tuple(out)


def gather(tensors: Sequence[Tensor], dim: int, index: int | None) -> Tensor:
    """Return `tensors` joined along `dim` on a device: `index`, the current one for None, the CPU for -1."""
    place = _place(torch.cuda.current_device() if index is None else index)
    return torch.cat([tensor.to(place) for tensor in tensors], dim)


def gather_out(tensors: Sequence[Tensor], out: Tensor, dim: int) -> Tensor:
    """Write `tensors` one after the other into `out` along `dim`."""
    for place, tensor in zip(out.split([source.size(dim) for source in tensors], dim), tensors, strict=True):
        place.copy_(tensor, non_blocking=True)
    return out


def broadcast(tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
    """Return `tensor` on each of `devices`: itself where it is there already."""
    return [tensor.to(_place(index), non_blocking=True) for index in devices]


def broadcast_out(tensor: Tensor, out: Sequence[Tensor]) -> Sequence[Tensor]:
    """Write `tensor` into each of `out`."""
    for place in out:
        place.copy_(tensor, non_blocking=True)
    return out


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[int], buffer_size: int) -> list[list[Tensor]]:
    """Return, for each of `devices`, all `tensors` there; `buffer_size` is taken and ignored."""
    return [[broadcast(tensor, [index])[0] for tensor in tensors] for index in devices]


def _place(index):
    return torch.device("cpu") if index == _HOST else torch.device("cuda", index)
