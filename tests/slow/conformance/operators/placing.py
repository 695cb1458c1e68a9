"""Arguments of a call copied to a device: same numbers, strides, offsets, flags; what shared memory still shares it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def copied(value: Any, device: str, needs_gradient: bool | None = None) -> Any:
    """Return `value` with each tensor on the CUDA device copied to `device`, "cpu" or "cuda:0"; others copied in place.

    Tensors are leaves afterwards; `needs_gradient` overrides whether they require a gradient.
    """
    return mapped(value, lambda tensor: _tensor(tensor, device, needs_gradient), device)


def mapped(value: Any, on_tensor: Callable[[Tensor], Any], device: str) -> Any:
    """Return `value` with `on_tensor` of each tensor in lists, tuples and dicts, and devices of type cuda renamed."""
    if isinstance(value, Tensor):
        return on_tensor(value)
    if isinstance(value, torch.device) or isinstance(value, str) and value.startswith("cuda"):
        return torch.device(device) if torch.device(value).type == "cuda" else value
    if isinstance(value, dict):
        return {name: mapped(item, on_tensor, device) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(mapped(item, on_tensor, device) for item in value)
    return value


def _tensor(tensor, device, needs_gradient):
    if tensor.layout != torch.strided or tensor.is_meta:
        return tensor
    place = device if tensor.is_cuda else "cpu"
    with torch.no_grad():
        bare = tensor.detach()
        conj, neg = bare.is_conj(), bare.is_neg()
        bare = bare.conj() if conj else bare
        bare = torch._neg_view(bare) if neg else bare
        length = 1 + sum((n - 1) * s for n, s in zip(bare.shape, bare.stride(), strict=True)) if bare.numel() else 0
        flat = bare.as_strided((length,), (1,)).to(place, copy=True)
        copy = flat.as_strided(bare.shape, bare.stride(), 0)
        copy = torch._neg_view(copy) if neg else copy
        copy = copy.conj() if conj else copy
    copy = copy.detach()
    if copy.is_floating_point() or copy.is_complex():
        copy.requires_grad_(tensor.requires_grad if needs_gradient is None else needs_gradient)
    return copy
