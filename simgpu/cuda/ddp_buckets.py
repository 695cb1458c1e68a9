"""Memory and time of DistributedDataParallel's buckets, which torch's C++ makes without calling Python."""

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from simgpu.ops.collectives import booked
from simgpu.ops.device_tensor import DeviceTensor, read
from simgpu.ops.results import put
from simgpu.replaced import replaced
from simgpu.state import required


@contextmanager
def buckets() -> Iterator[None]:
    """Within the `with`, reducers made for parameters on simulated GPUs take memory and time for their buckets."""
    if not torch.distributed.is_available():
        yield
        return
    reducers, owner = _Reducers(), torch.distributed
    changes = (
        (owner, "Reducer", reducers.with_memory(owner.Reducer)),
        (owner, "_register_comm_hook", reducers.hooked(owner._register_comm_hook)),
    )
    library = torch.library.Library("c10d", "IMPL")
    try:
        # C++ calls it for a bucket; no build of torch has a kernel on that key
        library.impl("allreduce_", reducers.reduced, "AutogradCPU", with_keyset=True)
        with replaced(changes):
            yield
    finally:
        library._destroy()


class _Reducers:
    """The reducers that live: on which device the parameters of each are."""

    def __init__(self) -> None:
        self._places: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # reducer -> its device
        self._of_groups: dict[str, torch.device] = {}  # a group's name -> the device of its last reducer

    def with_memory(self, original: Callable) -> Callable:
        """Return `original`, which makes a reducer, with memory for its buckets."""

        @functools.wraps(original, updated=())
        def reducer(parameters, indices, sizes, group, *args):
            instance = original(parameters, indices, sizes, group, *args)
            if parameters and all(isinstance(parameter, DeviceTensor) for parameter in parameters):
                where = self._places[instance] = self._of_groups[group.group_name] = parameters[0].where
                if not _are_gradients_views(args):
                    weakref.finalize(instance, _taken(parameters, indices, where).clear)
            return instance

        return reducer

    def hooked(self, original: Callable) -> Callable:
        """Return `original`, which gives a reducer a program's hook; it will see buckets on the device."""

        @functools.wraps(original)
        def register(reducer, state, hook):
            where = self._places.get(reducer)
            if where is not None:
                hook = functools.partial(_called, hook, where)
            return original(reducer, state, hook)

        return register

    def reduced(self, keys: Any, tensors: Any, group: Any, *args: Any) -> Any:
        """Add a bucket up over all processes, as without simulated GPUs, and tell the clock."""
        work = torch.ops.c10d.allreduce_.default.redispatch(
            keys & torch._C._after_autograd_keyset, tensors, group, *args
        )
        if torch._C._current_graph_task_id() != -1 and not any(isinstance(tensor, DeviceTensor) for tensor in tensors):
            where = self._of_groups.get(torch.distributed.ProcessGroup.unbox(group).group_name)
            if where is not None:
                booked(required(), where, sum(tensor.nbytes for tensor in tensors), "all-reduce of a bucket")
        return work


def _are_gradients_views(args):
    """Return whether gradients lie in the buckets: they are counted themselves then."""
    return len(args) > 3 and args[3] is True  # (…, sparse, bytes_cap, find_unused_parameters, gradient_as_bucket_view


def _taken(parameters, indices, where):
    """Return storages that stand for the buckets in the memory of `where`, without a byte of this computer's."""
    simulation, held = required(), []
    for bucket in indices:
        nbytes = sum(parameters[index].nbytes for index in bucket)
        held.append(torch.UntypedStorage(0))
        simulation.memory.took(where.index, nbytes, held[-1])
    return held


class Bucket:
    """A bucket as a program's hook sees it: torch's own, with its tensors on the device."""

    def __init__(self, bucket: Any, where: torch.device):
        self._bucket, self._where = bucket, where

    def buffer(self) -> Tensor:
        """Return the bucket's gradients, one after the other in a flat tensor."""
        return self._placed(self._bucket.buffer())

    def gradients(self) -> list[Tensor]:
        """Return the gradients, views of the buffer."""
        return [self._placed(gradient) for gradient in self._bucket.gradients()]

    def set_buffer(self, tensor: Tensor) -> None:
        """Take `tensor` for the buffer."""
        self._bucket.set_buffer(_plain(tensor))

    def __getattr__(self, name):
        return getattr(self._bucket, name)

    def _placed(self, numbers):
        return put(numbers, self._where, required(), shares=True)


def _called(hook, where, state, bucket):
    """Call a program's hook with a bucket on the device; what it promises goes back to C++ as plain numbers."""
    return hook(state, Bucket(bucket, where)).then(lambda future: _plain(future.value()))


def _plain(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return read(value) if isinstance(value, DeviceTensor) else value
