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
        return [(path, "dict"), *(leaf for key, leaf in value.items() for leaf in flat(leaf, f"{path}[{key!r}]"))]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        inside = [leaf for index, leaf in enumerate(value) for leaf in flat(leaf, f"{path}[{index}]")]
        return [(path, type(value).__name__), *inside]
    return [(path, value)]


def differences(actual: Outcome, expected: Outcome, device: str, values: bool = True) -> list[str]:
    """Return a line for each thing in which the outcome on `device` differs from the CPU's; `values`: numbers too."""
    if [path for path, _ in actual.leaves] != [path for path, _ in expected.leaves]:
        return [f"other results: {[p for p, _ in actual.leaves]} for {[p for p, _ in expected.leaves]}"]
    return [
        f"{path}: {line}"
        for (path, leaf), (_, other) in zip(actual.leaves, expected.leaves, strict=True)
        if (line := _difference(leaf, other, actual.places.get(path, device), values))
    ]


def _difference(leaf, other, device, values):
    if isinstance(leaf, Tensor) != isinstance(other, Tensor):
        return f"{leaf!r} for the CPU's {other!r}"
    if isinstance(leaf, Tensor):
        facts, wanted = _facts(leaf), _facts(other)
        if facts != wanted:
            return f"{facts} for the CPU's {wanted}"
        if not other.is_meta and str(leaf.device) != device:
            return f"it is on {leaf.device}"
        if values and other.layout == torch.strided and not other.is_meta and not _same(leaf, other):
            return f"{leaf.detach().cpu().flatten()[:6]} for the CPU's {other.detach().flatten()[:6]}"
        return ""
    if isinstance(leaf, torch.device):
        return "" if str(leaf) == device and other.type == "cpu" else f"{leaf} for the CPU's {other}"
    if type(leaf) is not type(other):
        return f"{leaf!r} for the CPU's {other!r}"
    if values and isinstance(leaf, (int, float, complex, str)) and not _equal(leaf, other):
        return f"{leaf!r} for the CPU's {other!r}"
    return ""


def _facts(tensor):
    strides = tuple(tensor.stride()) if tensor.layout == torch.strided and tensor.numel() else ()
    return (
        str(tensor.dtype), tuple(tensor.shape), strides, tensor.requires_grad, str(tensor.layout),
        tensor.is_conj(), tensor.is_neg(), tensor.is_leaf,
    )  # fmt: skip


def _same(leaf, other):
    leaf, other = leaf.detach().cpu().resolve_conj().resolve_neg(), other.detach().resolve_conj().resolve_neg()
    try:
        torch.testing.assert_close(leaf, other, equal_nan=True)
    except AssertionError:
        return False
    return True


def _equal(leaf, other):
    return leaf == other or (leaf != leaf and other != other) or isinstance(leaf, float) and abs(leaf - other) < 1e-5
