"""Bringing a call's inputs to a device, through `.to`, so that autograd records the way back; and notes for the log."""

from collections.abc import Iterable
from threading import get_ident
from typing import Any

import torch


def bring(args: tuple, kwargs: dict, device: torch.device, op: str) -> tuple[tuple, dict, list]:
    """Return `(args, kwargs, moved)`: the call's inputs on `device`, each tensor moved once, and a pair for each move,
    the tensor and its copy.

    `op` is the op they are moved for, as the log shows it. Tensors that are there already, and all that isn't a tensor,
    are passed on as they are; lists, tuples and dicts are copied where something in them moves.
    """
    moved = {}

    def go(value):
        if isinstance(value, torch.Tensor):
            if value.device == device:
                return value
            if id(value) not in moved:
                moved[id(value)] = value, value.to(device)
            return moved[id(value)][1]
        if type(value) in (list, tuple):
            return type(value)(map(go, value))
        if type(value) is dict:
            return {key: go(inside) for key, inside in value.items()}
        return value

    with noted(f"for {op}"):
        args, kwargs = go(tuple(args)), go(kwargs)
    return args, kwargs, list(moved.values())


def all_on(device: torch.device, values: Iterable) -> bool:
    """Return whether every tensor in `values`, and in the lists, tuples and dicts among them, is on `device`."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.device != device:
                return False
        elif isinstance(value, (list, tuple)):
            if not all_on(device, value):
                return False
        elif isinstance(value, dict) and not all_on(device, value.values()):
            return False
    return True


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors in nested tuples, lists and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for inside in value for tensor in tensors_in(inside)]


#: thread -> the remark on the op that runs there now. Empty but for moments: so the log sees at once that there is none
#: (a `threading.local` would cost every op a microsecond).
NOTES: dict[int, str] = {}


class noted:  # twice as fast as one made of a generator
    """Within the `with`, ops that a log records in this thread carry `text`."""

    def __init__(self, text: str):
        self.text = text

    def __enter__(self):
        self.before = NOTES.get(get_ident())
        NOTES[get_ident()] = self.text

    def __exit__(self, *error):
        if self.before is None:
            NOTES.pop(get_ident(), None)
        else:
            NOTES[get_ident()] = self.before
