"""An op that its device lacks: it runs on the CPU, and what it made or wrote returns to the device."""

import torch
from torch.utils._pytree import tree_map_only

from course.devices import moves
from course.devices.names import name_of
from course.devices.notes import noted
from course.devices.rules import Rule

_CPU = torch.device("cpu")


def run_on_cpu(plan, func, args, kwargs, device, count):
    """Return what `func(*args, **kwargs)` makes on the CPU, brought back to `device`.

    `args` and `kwargs` are as the program wrote them: what lies on the CPU already is not sent there and back.
    Whatever the op writes to is written where it lies. `count(moved)` is told the bytes of every move.
    """
    name = name_of(device)
    if plan.rule is Rule.MAKES:
        kwargs = {**kwargs, "device": _CPU}
    args, kwargs, moved = moves.bring(args, kwargs, _CPU, plan.name)
    before = [_version(copy) for _, copy in moved]
    count(moved)
    with noted(f"asked for {name}: no kernel"):
        made = func(*args, **kwargs)
    with noted(f"back from {plan.name}"):
        changed = [one for one, version in zip(moved, before, strict=True) if _version(one[1]) != version]
        for original, copy in changed:
            original.copy_(copy)
        returned = {id(copy): original for original, copy in moved}
        made = tree_map_only(torch.Tensor, lambda tensor: _returned(tensor, device, returned, changed), made)
    count(changed)
    return made


def _returned(tensor, device, returned, changed):
    """Return the tensor on `device` for one that the op gave back; a move is added to `changed`."""
    if id(tensor) in returned:  # `x.erfinv_()` gives back the very tensor that it wrote to
        return returned[id(tensor)]
    if tensor.device != _CPU:
        return tensor
    back = tensor.to(device)
    changed.append((tensor, back))
    returned[id(tensor)] = back
    return back


def _version(tensor):
    """Return how often the tensor was written to. One made in inference mode does not count: it is always copied."""
    return object() if tensor.is_inference() else tensor._version
