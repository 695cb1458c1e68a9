"""A function's result goes home through the CPU's memory: a tensor that is elsewhere raises an error at once."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from distributed import get_worker
from distributed.core import error_message

Result = TypeVar("Result")


def run_for_home(function: Callable[..., Result], *args: Any) -> Result:
    """On a task: return `function(*args)`, which is to be sent; TypeError when it holds a tensor that is not on a CPU.

    Without this, Dask tries to send such a tensor again and again, and the caller waits. RuntimeError for a function
    that exits by SystemExit, which would end the whole task.
    """
    try:
        result = function(*args)
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"{_name(function)} raised {type(error).__name__}: {error}") from error
    tensor = _elsewhere(result)
    if tensor is not None:
        raise TypeError(
            f"{_name(function)} returned a tensor on {tensor.device} of {get_worker().name}: what a task returns "
            f"travels through the CPU's memory. Return tensor.cpu(), or the number you need, tensor.item()."
        )
    return result


@dataclass(frozen=True)
class CutShort:
    """What a chunk of calls gave until one failed: the `values` before it, and its `error` and `traceback`, pickled."""

    values: list
    error: bytes
    traceback: bytes | None


def run_chunk_for_home(function: Callable[..., Result], calls: Sequence[tuple]) -> list[Result] | CutShort:
    """On a task: return `[function(*args) for args in calls]`, each as `run_for_home` does.

    When the first call fails, raise as it does; when a later one does, return the values before it as `CutShort`.
    """
    values: list[Result] = []
    for args in calls:
        try:
            values.append(run_for_home(function, *args))
        except BaseException as error:  # as Dask does, which turns each into a message
            if not values:
                raise
            message: dict[str, Any] = dict(error_message(error))
            traceback = message["traceback"]
            return CutShort(values, message["exception"].data, traceback and traceback.data)
    return values


def _elsewhere(result):
    """Return a tensor in `result` (itself, or in lists, tuples, sets, mappings, modules) that is not on a CPU, or None.

    Any other object is taken as it is: only its own class knows what it holds.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    waiting, visited = [result], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                return value
        elif isinstance(value, (list, tuple, set, frozenset, Mapping, torch.nn.Module)) and id(value) not in visited:
            visited.add(id(value))  # a list may hold itself
            waiting.extend(_parts(value, torch))
    return None


def _parts(value, torch):
    if isinstance(value, torch.nn.Module):
        return [*value.parameters(), *value.buffers()]
    return value.values() if isinstance(value, Mapping) else value


def _name(function):
    while hasattr(function, "func"):  # a partial, or one of a partial
        function = function.func
    return getattr(function, "__qualname__", repr(function))
