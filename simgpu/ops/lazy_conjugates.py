"""Complex numbers that are conjugated or negated lazily, by a bit on a view: torch's own step that resolves the bit.

Torch calls `__torch_dispatch__` with all earlier steps of its dispatcher off, that one among them. An op that makes
such a view inside, as `linalg.pinv` does, would then ignore the bit and give wrong numbers without an error.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

_guard = torch._C._ForceDispatchKeyGuard
_included, _excluded = torch._C._dispatch_tls_local_include_set, torch._C._dispatch_tls_local_exclude_set
_CONJUGATE, _NEGATIVE = torch._C.DispatchKey.Conjugate, torch._C.DispatchKey.Negative


def resolved(func: OpOverload, args: Sequence, kwargs: Mapping) -> Any:
    """Return what `func` makes of plain tensors, lazy conjugates and negatives inside it resolved."""
    with _guard(_included(), _excluded().remove(_CONJUGATE).remove(_NEGATIVE)):
        return func(*args, **kwargs)
