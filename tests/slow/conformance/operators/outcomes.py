"""What a call came to, on the CPU and on a device, and in what the two differ."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

#: Make memory that nobody has written to: its numbers mean nothing.
UNWRITTEN = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_"}


@dataclass
class Outcome:
    """What a call made: `leaves`, flat, with a path for each, its arguments after it last; or the `error` it raised.

    `places` has the devices of its arguments by path: they stay where they were.
    """

    leaves: list[tuple[str, Any]] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    error: Exception | None = None


def flat(value: Any, path: str = "result") -> list[tuple[str, Any]]:
    """Return (path, leaf) for all in lists, tuples and dicts; a container's kind is a leaf too."""
    if isinstance(value, dict):
        return [(path, "dict"), *(leaf for key, one in value.items() for leaf in flat(one, f"{path}[{key!r}]"))]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        inside = [leaf for index, one in enumerate(value) for leaf in flat(one, f"{path}[{index}]")]
        return [(path, type(value).__name__), *inside]
    return [(path, value)]


def differences(there: Outcome, here: Outcome, device: str, values: bool = True) -> list[str]:
    """Return a line for each thing in which the outcome on `device` differs from the CPU's; `values`: numbers too."""
    if [path for path, _ in there.leaves] != [path for path, _ in here.leaves]:
        return [f"other results: {[p for p, _ in there.leaves]} for {[p for p, _ in here.leaves]}"]
    return [
        f"{path}: {line}"
        for (path, one), (_, other) in zip(there.leaves, here.leaves, strict=True)
        if (line := _difference(one, other, there.places.get(path, device), values))
    ]


def _difference(one, other, device, values):
    if isinstance(one, Tensor) != isinstance(other, Tensor):
        return f"{one!r} for the CPU's {other!r}"
    if isinstance(one, Tensor):
        facts, wanted = _facts(one), _facts(other)
        if facts != wanted:
            return f"{facts} for the CPU's {wanted}"
        if not other.is_meta and str(one.device) != device:
            return f"it is on {one.device}"
        if values and other.layout == torch.strided and not other.is_meta and not _same(one, other):
            return f"{one.detach().cpu().flatten()[:6]} for the CPU's {other.detach().flatten()[:6]}"
        return ""
    if isinstance(one, torch.device):
        return "" if str(one) == device and other.type == "cpu" else f"{one} for the CPU's {other}"
    if type(one) is not type(other):
        return f"{one!r} for the CPU's {other!r}"
    if values and isinstance(one, (int, float, complex, str)) and not _equal(one, other):
        return f"{one!r} for the CPU's {other!r}"
    return ""


def _facts(tensor):
    strides = tuple(tensor.stride()) if tensor.layout == torch.strided and tensor.numel() else ()
    return (
        str(tensor.dtype), tuple(tensor.shape), strides, tensor.requires_grad, str(tensor.layout),
        tensor.is_conj(), tensor.is_neg(), tensor.is_leaf,
    )  # fmt: skip


def _same(one, other):
    one, other = one.detach().cpu().resolve_conj().resolve_neg(), other.detach().resolve_conj().resolve_neg()
    try:
        torch.testing.assert_close(one, other, equal_nan=True)
    except AssertionError:
        return False
    return True


def _equal(one, other):
    return one == other or (one != one and other != other) or isinstance(one, float) and abs(one - other) < 1e-5
