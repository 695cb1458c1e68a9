"""A tensor on a simulated GPU: its numbers lie in a plain CPU tensor, to Python it is on `cuda:k`."""

import copy
from typing import Any

import torch
from torch import Tensor

from simgpu.calls import conversions, moves
from simgpu.calls.torch_function import of_class
from simgpu.messages import no_class_of_ones_own, no_interface, not_numpy, only_on_cpu
from simgpu.ops import saving
from simgpu.ops.device_tensor import OWN_ATTRIBUTES, DeviceTensor, read
from simgpu.ops.dispatch import run_op


class SimulatedTensor(DeviceTensor):
    """A tensor that says it is on `where`, a simulated `cuda:k`; `numbers`, a plain CPU tensor, has its values.

    Torch's own functions make it while `simulated_gpus` is active; `simulation` is the `SimulatedGPUs` it belongs to.
    When that is closed, every use raises RuntimeError. Its views share the memory of its `numbers`. `kind` stands for
    shape and dtype.
    """

    __torch_function__: Any = classmethod(of_class)  # what a program calls, before autograd
    __torch_dispatch__: Any = classmethod(run_op)  # each op, at its kernel
    grad: Any = property(moves.get_grad, conversions.set_grad, Tensor.grad.__delete__)
    data: Any = property(Tensor.data.__get__, conversions.set_data)
    register_hook: Any = moves.register_hook

    @property
    def device(self) -> torch.device:
        """The simulated device it is on."""
        return self.where

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a simulated GPU."""
        return self.where.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether it is on the CPU."""
        return self.where.type == "cpu"

    def get_device(self) -> int:
        """Return the index of its device."""
        return self.where.index

    def data_ptr(self) -> int:
        """Return the address of its numbers in the host's memory."""
        return read(self).data_ptr()

    def untyped_storage(self) -> torch.UntypedStorage:
        """Return the storage of its numbers, which says that it is on the device."""
        storage = read(self).untyped_storage()
        storage.__class__, storage.where = saving.DeviceStorage, self.where
        return storage

    def apply_(self, function: Any) -> Any:
        """Raise CUDA's TypeError."""
        raise TypeError(only_on_cpu("apply_"))

    def map_(self, tensor: Any, function: Any) -> Any:
        """Raise CUDA's TypeError."""
        raise TypeError(only_on_cpu("map_"))

    def map2_(self, x: Any, y: Any, function: Any) -> Any:
        """Raise CUDA's TypeError."""
        raise TypeError(only_on_cpu("map2_"))

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError(no_interface(self.where))

    def numpy(self, *, force: bool = False) -> Any:
        """Raise CUDA's TypeError; with `force`, return a NumPy array of a copy."""
        read(self)
        if not force:
            raise TypeError(not_numpy(self.where))
        return self.detach().cpu().resolve_conj().resolve_neg().numpy()

    def tolist(self) -> Any:
        """Return its values as nested lists, or one number."""
        return self.detach().cpu().tolist()

    def as_subclass(self, cls: type) -> Any:
        """Return the tensor itself for a class that it is of; raise NotImplementedError for others."""
        if issubclass(type(self), cls):
            return self
        raise NotImplementedError(no_class_of_ones_own(cls.__name__))

    def is_shared(self) -> bool:
        """Return True: CUDA's memory always is."""
        return True

    def share_memory_(self) -> "SimulatedTensor":
        """Return itself: it is shared already."""
        return self

    def __array__(self, dtype=None, copy=None):
        read(self)
        raise TypeError(not_numpy(self.where))

    def __dlpack__(self, **options):
        raise BufferError(no_interface(self.where))

    def __format__(self, spec):
        if self.dim() == 0 and not self.is_meta:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents=None):
        numbers = _on_host(self)
        with torch._C.DisableTorchFunction():
            text = torch._tensor_str._str(numbers, tensor_contents=tensor_contents)
            needs = self.requires_grad and self.grad_fn is None
            back = "" if self.grad_fn is None else f", grad_fn=<{self.grad_fn.name()}>"
        text = f"{text[:-1]}, device='{self.where}'{', requires_grad=True' if needs else back}, simulated)"
        return f"Parameter containing:\n{text}" if isinstance(self, torch.nn.Parameter) else text

    def __copy__(self):
        copied = self.detach()
        copied = torch.nn.Parameter(copied) if isinstance(self, torch.nn.Parameter) else copied
        return copied.requires_grad_(self.requires_grad)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment."
            )
        copied = self.detach().clone()
        copied = torch.nn.Parameter(copied) if isinstance(self, torch.nn.Parameter) else copied
        copied.requires_grad_(self.requires_grad)
        memo[id(self)] = copied
        if self.grad is not None and not isinstance(self, torch.nn.Parameter):  # torch copies a Parameter without it
            copied.grad = copy.deepcopy(self.grad, memo)
        copied.__dict__.update(
            {name: copy.deepcopy(value, memo) for name, value in _attributes_of_program(self).items()}
        )
        return copied

    def __reduce_ex__(self, protocol):
        return saving.reduced(self, _on_host(self), _attributes_of_program(self))


def _attributes_of_program(tensor):
    """Return what a program itself has written on the tensor."""
    return {name: value for name, value in tensor.__dict__.items() if name not in OWN_ATTRIBUTES}


def _on_host(tensor):
    """Return the numbers for the host to read: it waits for them, and a failed assert is raised."""
    numbers = read(tensor)
    if not tensor.simulation.as_usual:
        tensor.simulation.clock.synchronize(tensor.where.index)
    return numbers
