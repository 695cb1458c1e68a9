"""`backend="nccl"` among processes with simulated GPUs: gloo carries it, and answers to the name."""

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import torch


def answers() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for the functions of torch.distributed that are asked for NCCL."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    named = _Named(c10d)
    for owner in (torch.distributed, c10d):
        yield owner, "init_process_group", named.starting(c10d.init_process_group)
        yield owner, "new_group", named.starting(c10d.new_group)
        yield owner, "get_backend", named.get_backend
        yield owner, "is_nccl_available", lambda: True


class _Named:
    """The process groups that a program asked NCCL for."""

    def __init__(self, c10d):
        self._c10d, self._get_backend = c10d, c10d.get_backend
        self._groups = set()
        self._said = False

    def starting(self, original):
        """Return `original`, which makes a group, with gloo in NCCL's place."""

        @functools.wraps(original)
        def start(*args, **kwargs):
            given = dict(zip(("backend",) if original.__name__ == "init_process_group" else ("ranks", "timeout", "backend"), args))
            given |= kwargs
            asked = given.get("backend")
            nccl = asked is None or "nccl" in str(asked).lower()
            if nccl and (original.__name__ == "init_process_group" or asked is not None):
                given["backend"] = "gloo"
                given.pop("device_id", None)
            made = original(**given)
            if nccl:
                self._groups.add(self._c10d._get_default_group() if made is None else made)
            return made

        return start

    def get_backend(self, group=None):
        """Return the backend's name as the program asked for it."""
        asked = group or self._c10d._get_default_group()
        return "nccl" if asked in self._groups else self._get_backend(group)
