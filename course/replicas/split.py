"""One product on several devices: pieces of a matrix go out, each device multiplies, the CPU joins what comes back."""

from collections.abc import Sequence

import torch

from course.devices.fallback import resolve
from course.replicas.shares import shares

_WAYS = ("rows", "columns", "inner")


def split_matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    devices: Sequence[str | torch.device] | str,
    by: str = "rows",
    weights: Sequence[float] | None = None,
) -> torch.Tensor:
    """Return `a @ b` on the CPU, computed in pieces on `devices`: the classic in-graph replication.

    - `a`: tensor `(n, k)`, `b`: tensor `(k, m)`, of one dtype, on any device; neither is changed.
    - `devices`: one or more names such as `/gpu:0` or `cuda:1`; the same one may be named twice.
    - `by`: what is cut. "rows": the rows of `a`, and every device gets all of `b`. "columns": the columns of `b`, and
      every device gets all of `a`. "inner": the columns of `a` with the rows of `b`; the pieces are then as large as
      the whole product, and the CPU adds them up in the devices' order, so the last bits may differ.
    - `weights`: one number a device, for devices that are not equally fast (default: equal shares).

    Differentiable: gradients come back to the leaves' own devices. Each copy shows in `log_placement`. No device waits
    for another: all products are handed out before the first result is fetched.
    Raises ValueError for shapes that don't fit, an unknown `by`, weights that don't fit, a device that isn't there.

    >>> a, b = torch.ones(4, 3), torch.ones(3, 2)
    >>> torch.equal(split_matmul(a, b, ["/cpu:0", "/cpu:0"]), a @ b)
    True
    """
    places = _checked(a, b, devices, by)
    length = {"rows": a.shape[0], "columns": b.shape[1], "inner": a.shape[1]}[by]
    parts = zip(places, shares(length, len(places), weights), strict=True)
    # a device whose share is empty gets nothing; with nothing to share out at all the first one makes the empty product
    busy = [(place, part) for place, part in parts if part.stop > part.start] or [(places[0], slice(None))]
    pieces = [_piece(a, b, by, part, place) for place, part in busy]
    home = [piece.to("cpu") for piece in pieces]
    if by == "inner":
        return sum(home[1:], start=home[0])
    return torch.cat(home, dim=0 if by == "rows" else 1)


def _piece(a, b, by, part, place):
    if by == "rows":
        a = a[part]
    elif by == "columns":
        b = b[:, part]
    else:
        a, b = a[:, part], b[part]
    waits = (
        place.type == "cpu"
    )  # a device's own queue keeps its product behind its copies; from pinned memory they overlap
    return a.to(place, non_blocking=not waits) @ b.to(place, non_blocking=not waits)


def _checked(a, b, devices, by):
    """Return the `torch.device`s; raise for what can't be multiplied or split."""
    if by not in _WAYS:
        raise ValueError(f"split_matmul(by={by!r}): cut {', '.join(map(repr, _WAYS))}.")
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"split_matmul(a, b): shapes {tuple(a.shape)} and {tuple(b.shape)} don't fit; give (n, k) and (k, m)."
        )
    return resolved(devices, "split_matmul")


def resolved(devices: Sequence[str | torch.device] | str, owner: str) -> list[torch.device]:
    """Return the `torch.device`s of one or more names; ValueError, which names `owner`, for none and a missing one."""
    places = [resolve(device)[0] for device in ([devices] if isinstance(devices, str) else devices)]
    if not places:
        raise ValueError(f"{owner}(devices=[]): name at least one, such as ['/gpu:0', '/gpu:1'] or ['/cpu:0'].")
    return places
