"""`backend="nccl"` among processes with simulated GPUs: gloo carries it, and answers to the name."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch


def answers() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for the functions of torch.distributed that are asked for NCCL."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    groups = _Groups(distributed_c10d.get_backend)
    for name, value in (
        ("init_process_group", groups.started(distributed_c10d.init_process_group)),
        ("new_group", groups.started(distributed_c10d.new_group)),
        ("get_backend", groups.get_backend),
        ("is_nccl_available", lambda: True),
    ):
        for owner in (torch.distributed, distributed_c10d):
            yield owner, name, value


class _Groups:
    """The process groups that a program has of NCCL, and the backend that it believes they have."""

    def __init__(self, get_backend: Callable):
        self._get_backend = get_backend
        self._named: dict[str, str] = {}  # a group's name -> "nccl"

    def started(self, original: Callable) -> Callable:
        """Return `original`, which starts a group, with gloo where NCCL is asked for."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def start(*args, **kwargs):
            given = signature.bind(*args, **kwargs).arguments
            named = str(given.get("backend") or "").lower()
            follows = "ranks" in signature.parameters and not named and "nccl" in self.get_backend()
            if "nccl" not in named and not follows:
                return original(*args, **kwargs)
            given["backend"] = "gloo"
            given.pop("device_id", None)  # it binds NCCL's communicator; gloo has none for a device
            given.pop("pg_options", None)
            made = original(**given)
            group = torch.distributed.group.WORLD if made is None else made
            if isinstance(group, torch.distributed.ProcessGroup):  # not so where this rank isn't in it
                self._named[group.group_name] = "nccl"
            if made is None and torch.distributed.get_rank() == 0:
                print("simgpu: NCCL among simulated GPUs: gloo carries its collectives.", file=sys.stderr)
            return made

        return start

    def get_backend(self, group: Any = None) -> str:
        """Return the backend's name as the program gave it."""
        asked = torch.distributed.group.WORLD if group is None else group
        return self._named.get(getattr(asked, "group_name", "")) or self._get_backend(group)
