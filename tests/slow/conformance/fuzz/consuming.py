"""What a program does with a result: hands it out, reads its memory, saves it, prints it, takes its gradient."""

import copy
import gc
import io
import pickle
import random
from typing import Any

import numpy
import torch
from torch import Tensor


def consume(draw: random.Random, result: Any) -> None:
    """Do one random thing with the first tensor in `made`, the result of a call."""
    several = result if isinstance(result, (list, tuple)) else (result,)
    tensor = next((value for value in several if isinstance(value, Tensor)), None)
    if tensor is None or tensor.layout != torch.strided or tensor.numel() > 100_000:  # few bytes can be many numbers
        return
    if tensor.untyped_storage().nbytes() < 100_000:
        draw.choice(_USES)(tensor)


def _capsule(x):
    again = torch.utils.dlpack.from_dlpack(x.__dlpack__())
    del x
    gc.collect(0)
    again.sum()


def _to_dlpack(x):
    torch.from_dlpack(torch.utils.dlpack.to_dlpack(x)).sum()


def _array(x):
    array = x.detach().numpy(force=True)
    del x
    float(numpy.nansum(array.real))


def _storage(x):
    storage = x.untyped_storage()
    del x
    bytes(storage.cpu().tolist()[:8])


def _typed(x):
    x.storage().tolist()


def _refilled(x):
    torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage(), 0, x.shape).sum()


def _resized(x):
    storage = x.detach().clone().untyped_storage()
    storage.resize_(storage.nbytes() * 2)
    storage.fill_(1)


def _pickled(x):
    pickle.loads(pickle.dumps(x.detach())).sum()


def _saved(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    torch.load(file, weights_only=True).sum()
    file.seek(0)
    torch.load(file, map_location="cpu").sum()


def _backward(x):
    (x.real if x.is_complex() else x).sum().backward()


def _written(x):
    x.detach()[...] = 1


_USES = (
    _capsule, _to_dlpack, _array, _storage, _typed, _refilled, _resized, _pickled, _saved, _backward, _written,
    repr, copy.deepcopy, copy.copy, Tensor.tolist, Tensor.cpu, Tensor.data_ptr, Tensor.share_memory_, hash, memoryview,
)  # fmt: skip
