"""Sequences of different lengths, packed and padded: ops of CUDA that take their lengths from the CPU.

Torch's own ops read the lengths in C++ and make tensors on the C++ device. Here they run on places, which are plain
numbers on the CPU, and the device's tensor is indexed by the places that they return.
"""

import torch
from torch import Tensor

from simgpu.ops.device_tensor import DeviceTensor


def pack_padded_sequence(sequences: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """`torch._VF._pack_padded_sequence`: return the steps that count, in one row, and how many run at each time."""
    if not isinstance(sequences, DeviceTensor):
        return _plain("_pack_padded_sequence", sequences, lengths, batch_first)
    if lengths.device.type != "cpu":
        raise RuntimeError(  # of ATen/native/PackedSequence.cpp
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} "
            f"{str(lengths.dtype).removeprefix('torch.').capitalize()} tensor"
        )
    first, second = sequences.shape[:2]
    places = torch.arange(first * second, device="cpu").reshape(first, second)
    picked, running = _plain("_pack_padded_sequence", places, lengths, batch_first)
    return sequences.flatten(0, 1)[picked], running


def pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """`torch._VF._pad_packed_sequence`: the inverse; what no step fills is `padding_value`."""
    if not isinstance(data, DeviceTensor):
        return _plain("_pad_packed_sequence", data, batch_sizes, batch_first, padding_value, total_length)
    places = torch.arange(1, len(data) + 1, device="cpu")
    picked, lengths = _plain("_pad_packed_sequence", places, batch_sizes, batch_first, 0, total_length)
    filler = torch.full_like(data[:1], padding_value)
    return torch.cat([filler, data])[picked], lengths


def _plain(name, *args):
    with torch._C.DisableTorchFunctionSubclass():
        return getattr(torch._VF, name)(*args)
