"""Pinned memory in the simulation: a CPU tensor marked as such, since only a driver could really pin it.

The mark is on the storage, as in torch: views of a pinned tensor are pinned too. The clock models copies from and to
marked tensors as those of pinned memory.
"""

import weakref

import torch

_PINNED = {}  # address of a storage -> weak reference to it


def pin(tensor, device=None):
    """Return a marked copy of a CPU tensor, or the tensor itself when it is marked: what `Tensor.pin_memory` does.

    `device` is taken and ignored, as torch deprecates it. Raises torch's RuntimeError for a tensor on a device.
    """
    if tensor.device.type != "cpu" or tensor.is_sparse:
        kind = tensor.type() if tensor.is_sparse else f"torch.cuda.{_type_name(tensor)}"
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    return tensor if is_pinned(tensor) else mark(tensor.detach().clone())


def is_pinned(tensor, device=None):
    """Return whether `tensor` lies in memory that is marked as pinned: what `Tensor.is_pinned` does."""
    if tensor.device.type != "cpu" or tensor.is_sparse or not _PINNED:
        return False
    storage = tensor.untyped_storage()
    known = _PINNED.get(storage._cdata)
    return known is not None and known() is storage


def mark(tensor):
    """Mark a CPU tensor's memory as pinned and return the tensor: for factories that are told `pin_memory=True`."""
    storage = tensor.untyped_storage()
    key = storage._cdata
    _PINNED[key] = weakref.ref(storage, lambda gone: _PINNED.get(key) is gone and _PINNED.pop(key))
    return tensor


def _type_name(tensor):
    return torch.empty(0, dtype=tensor.dtype).type().removeprefix("torch.")
