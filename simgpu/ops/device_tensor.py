"""What the parts of a simulation need of a simulated tensor: its numbers, its device, and the simulation it belongs to.

The class that programs see, with all of its methods, is `simgpu.simulated_tensor.SimulatedTensor`; it stands above the
functions that handle its tensors, so these know it by this base class and make new ones by `simulation.tensor_class`.
"""

from typing import Any

from torch import Tensor

from simgpu.ops.shape_numbers import kind_of
from simgpu.state import opened

_wrap = Tensor._make_subclass  # its C++ device is the CPU: one of cuda aborts in autograd on a build without CUDA
#: The attributes that simgpu itself writes on a tensor.
OWN_ATTRIBUTES = ("numbers", "where", "simulation", "kind")


class DeviceTensor(Tensor):
    """A tensor on `where`, a simulated `cuda:k`; `numbers`, a plain CPU tensor, has its values.

    `simulation` is the `SimulatedGPUs` it belongs to; `kind` is a number that stands for shape, dtype and layout.
    """

    numbers: Tensor
    where: Any  # a `torch.device`; torch has a method by that name
    simulation: Any
    kind: int

    @staticmethod
    def __new__(cls, numbers, where, simulation, kind=None):
        tensor = _wrap(cls, numbers)  # the same memory: C++ that looks at it directly finds the numbers, and no hole
        tensor.numbers = numbers
        tensor.where = where
        tensor.simulation = simulation
        tensor.kind = kind_of(numbers) if kind is None else kind
        return tensor


def read(tensor: DeviceTensor) -> Tensor:
    """Return the plain CPU tensor inside `tensor`, or raise if its simulation is closed."""
    opened(tensor.simulation)
    return tensor.numbers
