"""Collectives among processes with simulated GPUs: gloo moves the numbers, the clock is told NCCL's bytes."""

from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_leaves, tree_map

SPACES = ("c10d", "_c10d_functional")


def run(cls: type, func: OpOverload, args: tuple, kwargs: dict, first: Any) -> Any:
    """Run a collective on the numbers of simulated tensors; `first` is one of them, whose device the results are on."""
    inner, named = tree_map(lambda value: value.numbers if type(value) is cls else value, (args, kwargs))
    made = func(*inner, **named)
    ours = {id(value.numbers): value for value in tree_leaves((args, kwargs)) if type(value) is cls}

    def back(value):
        if type(value) is not torch.Tensor:
            return value
        known = ours.get(id(value))
        return cls(value, first.where, first.simulation) if known is None else known

    return tree_map(back, made)
