"""Odd arguments: tensors of every kind and place, numbers at the edges, names, lists of all these."""

import random
from typing import Any

import numpy
import torch
from torch import Tensor

DTYPES = (
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool,
    torch.complex64,
)  # fmt: skip
SHAPES = ((), (1,), (3,), (0,), (2, 3), (3, 3), (2, 0, 3), (2, 3, 4), (1, 2, 5, 5), (2, 2, 4, 4, 4))
PLACES = ("cuda:0", "cuda:0", "cuda:0", "cuda:1", "cpu", "cpu", "meta")
#: Sizes and indices: what is larger than memory is refused by the allocator, and none makes a gigabyte that would fit.
NUMBERS = (0, 1, 2, 3, 7, -1, -2, 100, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63), 2**70)
OTHERS = (
    None, True, False, 0.0, 1.5, float("nan"), float("inf"), 1e300, 2 + 1j, "mean", "cuda:0", "cuda:7", "cpu", "ij,jk",
    "reflect", "", b"x", (), [], {}, ..., slice(None), slice(1, None, 2), torch.float16, torch.int64, torch.strided,
    torch.sparse_coo, torch.channels_last, torch.contiguous_format, torch.Size([2, 3]), torch.device("cuda:1"), len,
)  # fmt: skip


def tensor(draw: random.Random, dead: list[Tensor]) -> Tensor:
    """Return a tensor of a random kind; now and then one of `dead`, whose simulation has ended."""
    if dead and draw.random() < 0.04:
        return draw.choice(dead)
    values = _numbers(draw, draw.choice(SHAPES), draw.choice(DTYPES)).to(draw.choice(PLACES))
    return draw.choice(_FORMS)(values)


def _numbers(draw, shape, dtype):
    source = torch.Generator().manual_seed(draw.randrange(2**32))
    values = torch.randint(-3, 6, shape, generator=source).to(torch.float32)
    return (values if draw.random() < 0.5 else values / 2).to(dtype)


def _plain(x):
    return x


def _leaf(x):
    return x.requires_grad_() if x.is_floating_point() or x.is_complex() else x


def _grown(x):
    return _leaf(x) * 2


def _turned(x):
    return x.mT if x.dim() > 1 else x.flip(0) if x.dim() else x


def _stepped(x):
    return x[..., ::2] if x.dim() else x


def _spread(x):
    return x.expand(2, *x.shape)


def _lazy(x):
    return x.conj() if x.is_complex() else x


def _parameter(x):
    return torch.nn.Parameter(x) if x.is_floating_point() else x


def _sparse(x):
    return x.to_sparse() if x.device.type == "cpu" and x.dim() else x


def _unwatched(x):
    with torch.inference_mode():
        return x + 0


_FORMS = (_plain,) * 6 + (_leaf, _grown, _turned, _stepped, _spread, _lazy, _parameter, _sparse, _unwatched)


def odd(draw: random.Random, dead: list[Tensor], depth: int = 0) -> Any:
    """Return any argument at all."""
    kind = draw.random()
    if kind < 0.4:
        return tensor(draw, dead)
    if kind < 0.65:
        return draw.choice(NUMBERS)
    if kind < 0.85 or depth > 1:
        return draw.choice(OTHERS)
    if kind < 0.88:
        return numpy.arange(3.0)
    if kind < 0.9:
        return torch.Generator("cuda" if draw.random() < 0.5 else "cpu")
    several = [odd(draw, dead, depth + 1) for _ in range(draw.randrange(4))]
    return several if draw.random() < 0.5 else tuple(several)


def changed(draw: random.Random, value: Any, dead: list[Tensor]) -> Any:
    """Return an argument of a call that is right, made odd: a tensor in another place or dtype, a number of another
    size, another thing altogether."""
    kind = draw.random()
    if kind < 0.15:
        return odd(draw, dead)
    if isinstance(value, Tensor) and value.layout == torch.strided:
        return _moved(draw, value)
    if isinstance(value, (list, tuple)) and value:
        several = list(value)
        place = draw.randrange(len(several))
        several[place] = changed(draw, several[place], dead)
        return type(value)(several) if type(value) in (list, tuple) else several
    return draw.choice(NUMBERS) if isinstance(value, int) else odd(draw, dead)


def _moved(draw, value):
    kind = draw.randrange(7)
    if kind == 0:
        return value.to(draw.choice(DTYPES))
    if kind == 1:
        return [value, value]
    if kind == 2:
        return value.to(draw.choice(("cpu", "cuda:1", "meta")))
    if kind == 3:
        return value.unsqueeze(0)
    if kind == 4:
        return value.flatten()[:1]
    return _leaf(value.detach()) if kind == 5 else _turned(value)
