"""`torch.optim.SGD`'s step on parameters that lie in one vector: the same arithmetic, in one call for all tensors.

A step of an optimiser of PyTorch's looks at every parameter, its hooks and its profiler; for a small network that takes
longer than the arithmetic. Its slow twin is `torch.optim.SGD.step`, and the numbers are the same bit for bit.
"""

from numbers import Real
from typing import Any

import torch
from torch.optim.sgd import sgd

from course.training.transport.layout import Tensors

_NUMBERS = ("lr", "momentum", "dampening", "weight_decay")
_DTYPES = (torch.float32, torch.float64)  # of 16 bits, the end of a tensor is rounded in another way than its middle
_CHOICES = ("foreach", "fused", "differentiable")


class FlatSGD:
    """Steps `parameters`, which lie in `flat` and change in place, as their `optimizer` would; it keeps the state."""

    def __init__(self, optimizer: torch.optim.SGD, parameters: Tensors, flat: torch.Tensor):
        self._optimizer, self._parameters, self._flat = optimizer, parameters, flat
        self._momentum: torch.Tensor | None = None

    def step(self, gradient: torch.Tensor) -> None:
        """Make one update with `gradient`, a vector that lies as the parameters do; it stays as it is."""
        group: dict[str, Any] = self._optimizer.param_groups[0]
        if self._momentum is None and group["momentum"] != 0:
            self._gather()
        momentum = [self._momentum]
        numbers = {name: group[name] for name in _NUMBERS}
        choices = {"nesterov": group["nesterov"], "maximize": group["maximize"], "foreach": False, "fused": False}
        sgd([self._flat], [gradient], momentum, **numbers, **choices)
        if momentum[0] is not self._momentum:
            self._keep(momentum[0])

    def _gather(self):
        """Keep as one vector what the optimiser's own step, or a checkpoint, has left as its momentum."""
        state = self._optimizer.state
        buffers = {name: state.get(value, {}).get("momentum_buffer") for name, value in self._parameters.items()}
        if all(isinstance(buffer, torch.Tensor) for buffer in buffers.values()):
            self._keep(torch.zeros_like(self._flat))
            for name, value in self._parameters.layout.parts(self._momentum).items():
                value.copy_(buffers[name])

    def _keep(self, momentum):
        self._momentum = momentum
        for name, value in self._parameters.layout.parts(momentum).items():
            self._optimizer.state[self._parameters[name]]["momentum_buffer"] = value


def flat_sgd(optimizer: torch.optim.Optimizer, parameters: dict[str, torch.Tensor]) -> FlatSGD | None:
    """Return a `FlatSGD` of this optimiser of `parameters`; None where its own step may do anything else."""
    if type(optimizer) is not torch.optim.SGD or "step" in vars(optimizer) or len(optimizer.param_groups) != 1:
        return None  # a subclass, a step that was replaced, rates that differ
    group, state = optimizer.param_groups[0], optimizer.state
    hooked = optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks
    plain = all(isinstance(group[name], Real) for name in _NUMBERS) and not any(group[name] for name in _CHOICES)
    if hooked or not plain or not isinstance(parameters, Tensors) or parameters.flat is None:
        return None
    if parameters.flat.dtype not in _DTYPES:
        return None
    with_momentum = sum("momentum_buffer" in state.get(value, {}) for value in parameters.values())
    return FlatSGD(optimizer, parameters, parameters.flat) if with_momentum in (0, len(parameters)) else None
