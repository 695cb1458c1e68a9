"""`backend="nccl"` among processes with simulated GPUs: gloo carries it under that name."""

import functools
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from simgpu.messages import no_backend
from simgpu.ops.collectives import of_work
from simgpu.state import active

_log = logging.getLogger(__name__)
#: Take tensors, which NCCL wants on GPUs.
_COLLECTIVES = (
    "all_reduce all_reduce_coalesced broadcast reduce all_gather all_gather_single all_gather_into_tensor "
    "_all_gather_base all_gather_coalesced gather scatter reduce_scatter reduce_scatter_single reduce_scatter_tensor "
    "_reduce_scatter_base all_to_all all_to_all_single send recv isend irecv"
).split()


def answers() -> Iterator[tuple[Any, str, Any]]:
    """Yield (owner, name, value) for the functions of torch.distributed that take or report a backend."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    groups = Groups(distributed_c10d.get_backend)
    answers = {
        "init_process_group": groups.started(distributed_c10d.init_process_group),
        "new_group": groups.started(distributed_c10d.new_group),
        "get_backend": groups.get_backend,
        "is_nccl_available": lambda: True,
        "_get_object_coll_device": groups.of_objects(distributed_c10d._get_object_coll_device),
    }
    for name in _COLLECTIVES:
        if hasattr(distributed_c10d, name):
            answers[name] = groups.checked(getattr(distributed_c10d, name))
    yield torch.distributed.Work, "get_future", _future(torch.distributed.Work.get_future)
    for name, value in answers.items():
        for owner in (torch.distributed, distributed_c10d):
            if hasattr(owner, name):
                yield owner, name, value


def _future(original):
    @functools.wraps(original)
    def get_future(self):
        return original(self).then(lambda future: of_work(future.value()))

    return get_future


class Groups:
    """The process groups that a program started with NCCL, and the backend that is reported for each."""

    def __init__(self, get_backend: Callable):
        self._get_backend = get_backend
        self._backends: dict[str, str] = {}  # a group's name -> "nccl"
        self._only: set[str] = set()  # names of groups that have no other backend

    def started(self, original: Callable) -> Callable:
        """Return `original`, which starts a group, with gloo in place of NCCL."""
        signature = inspect.signature(original)

        @functools.wraps(original)
        def start(*args, **kwargs):
            arguments = signature.bind(*args, **kwargs).arguments
            backend = str(arguments.get("backend") or "").lower()
            follows = "ranks" in signature.parameters and not backend and "nccl" in self.get_backend()
            if "nccl" not in backend and not follows:
                return original(*args, **kwargs)
            arguments["backend"] = "gloo"
            arguments.pop("device_id", None)  # it binds NCCL's communicator; gloo has none for a device
            arguments.pop("pg_options", None)
            created = original(**arguments)
            group = torch.distributed.group.WORLD if created is None else created
            if isinstance(group, torch.distributed.ProcessGroup):  # not so where this rank isn't in it
                self._backends[group.group_name] = "nccl"
                if follows or backend == "nccl":  # not "cpu:gloo,cuda:nccl"
                    self._only.add(group.group_name)
                _log.info("process group %s of backend %s: gloo carries it", group.group_name, backend or "nccl")
            if created is None and torch.distributed.get_rank() == 0:
                print("simgpu: NCCL among simulated GPUs: gloo carries its collectives.", file=sys.stderr)
            return created

        return start

    def get_backend(self, group: Any = None) -> str:
        """Return the backend's name as the program gave it."""
        chosen = torch.distributed.group.WORLD if group is None else group
        return self._backends.get(getattr(chosen, "group_name", "")) or self._get_backend(group)

    def checked(self, original: Callable) -> Callable:
        """Return `original`, a collective, which refuses a CPU tensor where the group has NCCL alone, as that does."""

        @functools.wraps(original)
        def collective(*args, **kwargs):
            leaves = tree_leaves((args, kwargs))
            group = next((leaf for leaf in leaves if isinstance(leaf, torch.distributed.ProcessGroup)), None)
            if self._is_only(group):
                away = [leaf.device.type for leaf in leaves if isinstance(leaf, Tensor) and not leaf.is_cuda]
                if away:
                    raise RuntimeError(no_backend(away[0]))
            return original(*args, **kwargs)

        return collective

    def of_objects(self, original: Callable) -> Callable:
        """Return `original`, the device from which pickled objects are sent: with NCCL the GPU."""

        @functools.wraps(original)
        def device(group=None):
            return "cuda" if self._is_only(group) else original(group)

        return device

    def _is_only(self, group):
        if active() is None or not torch.distributed.is_initialized():
            return False
        return getattr(group or torch.distributed.group.WORLD, "group_name", "") in self._only
