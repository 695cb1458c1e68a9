"""A tensor on a simulated GPU: its numbers lie in a plain CPU tensor, and it says, to Python, that it is on `cuda:k`."""

import torch
from torch import Tensor

from course.devices.simulated.dispatch import run_op
from course.devices.simulated.messages import closed

_wrap = Tensor._make_wrapper_subclass
_CPU = torch.device("cpu")  # a wrapper whose C++ device is cuda aborts in autograd on a build without CUDA


class SimulatedTensor(Tensor):
    """A tensor that says it is on `where`, a simulated `cuda:k`; `numbers`, a plain CPU tensor, has its values.

    Torch's own functions make it while `simulated_gpus` is active; `simulation` is the `SimulatedGPUs` it belongs to.
    When that is closed, every use raises RuntimeError. `storage` is what its views share with it.
    """

    @staticmethod
    def __new__(cls, numbers, where, simulation, storage=None):
        made = _wrap(
            cls,
            numbers.shape,
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=_CPU,
        )
        made.numbers = numbers
        made.where = where
        made.simulation = simulation
        made.storage = storage
        return made

    __torch_dispatch__ = classmethod(run_op)

    @property
    def device(self):
        return self.where

    @property
    def is_cuda(self):
        return self.where.type == "cuda"

    @property
    def is_cpu(self):
        return self.where.type == "cpu"

    def get_device(self):
        return self.where.index


def read(tensor):
    """Return the plain CPU tensor inside `tensor`, or raise if its simulation is closed."""
    if tensor.simulation.closed:
        raise RuntimeError(closed(tensor.simulation))
    return tensor.numbers
