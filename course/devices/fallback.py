"""Fallbacks for a device or a kernel that is missing: an error, or the CPU, from which the results return."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from course.devices import moves
from course.devices.device_list import Device, list_devices
from course.devices.moves import noted
from course.devices.names import DeviceName, name_of
from course.devices.rules import CallPlan, Rule

_CPU = torch.device("cpu")


def run_on_cpu(
    plan: CallPlan, func: Callable, args: tuple, kwargs: dict, device: torch.device, count: Callable[[list], None]
) -> Any:
    """Run `func(*args, **kwargs)` on the CPU and return its result, brought back to `device`.

    `args` and `kwargs` are as the program wrote them: a tensor that lies on the CPU already is not sent there and back.
    A tensor that the op writes to is written where it lies. `count(moved)` is called with the tensors of every move.
    """
    name = name_of(device)
    if plan.rule is Rule.MAKES:
        kwargs = {**kwargs, "device": _CPU}
    args, kwargs, moved = moves.bring(args, kwargs, _CPU, plan.name)
    before = [_version(copy) for _, copy in moved]
    count(moved)
    with noted(f"asked for {name}: no kernel"):
        result = func(*args, **kwargs)
    with noted(f"back from {plan.name}"):
        changed = [pair for pair, version in zip(moved, before, strict=True) if _version(pair[1]) != version]
        for original, copy in changed:
            original.copy_(copy)
        returned = {id(copy): original for original, copy in moved}
        result = tree_map_only(torch.Tensor, lambda tensor: _returned(tensor, device, returned, changed), result)
    count(changed)
    return result


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


def resolve(device: "str | DeviceName | Device | torch.device", soft: bool = False) -> tuple[torch.device, str]:
    """Return `(torch.device, note)` for a name, `DeviceName`, `Device` or `torch.device`; the note is for the log.

    A device that this machine lacks is a ValueError that lists what there is; with `soft=True` it is the CPU, and the
    note says what was asked for.
    """
    name = DeviceName.parse(device)
    if name.job not in (None, "localhost"):  # TensorFlow calls the process itself /job:localhost
        raise ValueError(
            f"place(device={str(name)!r}): names a device of another task. Pin the work with "
            f"cluster.at({str(name)!r}), or leave the task out: place({str(name.local or '/cpu:0')!r})."
        )
    if name.local is None:
        raise ValueError(f"place(device={str(name)!r}): names a task, not a device. Add one: '{name}/cpu:0'.")
    # Every build of torch has these two; meta, shapes without numbers, is on no list.
    if str(name.local) in ("/cpu:0", "/meta:0"):
        return name.local.torch, ""
    here = list_devices()
    if str(name.local) in [listed.name for listed in here]:
        return name.local.torch, ""
    if soft:
        return DeviceName(kind="cpu", index=0).torch, f"asked for {name.local}: not on this machine"
    names = ", ".join(f"{listed.name} (simulated)" if listed.simulated else listed.name for listed in here)
    raise ValueError(
        f"place(device={str(name.local)!r}): this machine has {names}.\n"
        f"Use one of these, pass soft=True to run on the CPU instead"
        f"{f', or practise with simulated_gpus({(name.index or 0) + 1})' if name.kind == 'gpu' else ''}."
    )


def missing_kernel(error: NotImplementedError) -> bool:
    """Return whether torch's NotImplementedError says that the device lacks the op, not that the op lacks a feature."""
    text = str(error)
    return "Could not run" in text or "not currently implemented for the" in text or "no fake impl" in text
