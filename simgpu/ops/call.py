"""A call of an op as torch dispatches it: its tensors' plain numbers, and which device they are on."""

from typing import Any

from torch import Tensor

from simgpu.ops.declarations import OpPlan
from simgpu.state import opened


class Call:
    """The tensors of one op: `where` its first simulated one is, and the `others`, which are elsewhere.

    `lazy`: it may meet complex numbers, and so lazily conjugated ones.
    """

    __slots__ = ("cls", "plan", "first", "where", "simulation", "others", "lazy")
    where: Any  # None until there is one
    others: Any

    def __init__(self, cls: type, plan: OpPlan):
        self.cls = cls
        self.plan = plan
        self.where = self.others = None
        self.lazy = plan.name.startswith("_fft")

    def numbers_of(self, value: Any) -> Any:
        """Return `value` with the plain tensors in place of the simulated ones."""
        kind = type(value)
        if kind is self.cls:
            if self.where is None:
                self.first, self.where, self.simulation = value, value.where, opened(value.simulation)
            elif value.where is not self.where:  # one object stands for each device of a simulation
                self._elsewhere(value)
            numbers = value.numbers
            if numbers.is_complex():
                self.lazy = True
            return numbers
        if kind is list or kind is tuple:
            return kind(map(self.numbers_of, value))
        if isinstance(value, Tensor):
            self._elsewhere(value)
        return value

    def _elsewhere(self, value):
        self.lazy = self.lazy or value.is_complex()
        self.others = [*(self.others or ()), value]
