"""The memory of a CUDA graph's tensors: storages that the program still holds, and the graph's own."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

_set = torch.ops.aten.set_.source_Storage_storage_offset
_copy, _clone = torch.ops.aten.copy_.default, torch.ops.aten.clone.default


class Place(NamedTuple):
    """A tensor in a storage made in a capture: the storage's `number`, and what of it the tensor is."""

    number: int
    dtype: torch.dtype
    offset: int
    shape: torch.Size
    stride: tuple[int, ...]


@dataclass
class Step:
    """An op of a graph: `run(*arguments)` returns what it makes, and the words of an assert that fails, or None.

    `arguments`: its plain arguments, those made in the capture as `Place`s.
    `outputs`: where among its results each new tensor is, and its `Place`.
    `part`: engine, seconds and name, for the clock.
    `line`: the program's, if its kernel asserts. `last`: storages not needed after it.
    """

    run: Callable[..., Any]
    arguments: Any
    outputs: list[tuple[int, Any]]
    part: tuple[str, float, str]
    line: str
    last: list[int] = field(default_factory=list)
    bound: bool = False  # whether no `Place` is left in `arguments`


class Places:
    """The storages that a capture makes, by number. The program alone holds them until `settle`."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[int, weakref.ref]] = {}  # address of a storage -> its number, and itself
        self._count = 0
        self._first: dict[int, Place] = {}  # number -> the tensor that it was made for
        self._held: dict[int, Any] = {}  # number -> storage that the program still had at the end
        self._replayed: dict[int, Any] = {}  # number -> storage during a replay

    def holds(self, tensor: Tensor) -> bool:
        """Return whether a plain tensor lies in memory that the capture has made."""
        return self._number(tensor) is not None

    def new(self, tensor: Tensor) -> Place:
        """Note the storage of a plain tensor that a step has made, and return its `Place`."""
        if self._number(tensor) is None:
            storage = tensor.untyped_storage()
            self._numbers[storage._cdata] = self._count, weakref.ref(storage)
            self._count += 1
        place = self._place(tensor)
        self._first.setdefault(place.number, place)
        return place

    def noted(self, arguments: Any) -> Any:
        """Return arguments with a `Place` for each plain tensor that the capture has made."""
        return tree_map(
            lambda value: self._place(value) if isinstance(value, Tensor) and self.holds(value) else value, arguments
        )

    def settle(self, steps: Sequence[Step]) -> list[Tensor]:
        """Take hold of the storages that the program still has, at the end; return a tensor of the whole of each."""
        for number, storage in self._numbers.values():
            alive = storage()
            if alive is not None:
                self._held[number] = alive
        self._numbers.clear()
        needed_later: set[int] = set(self._held)
        for step in reversed(steps):
            used = {place.number for place in _places([step.arguments, [output for _, output in step.outputs]])}
            step.last = [*(used - needed_later)]
            needed_later |= used
            step.arguments = self._bound(step.arguments, self._held)
            step.bound = not any(_places(step.arguments))
            step.outputs = [(at, self._bound(output, self._held)) for at, output in step.outputs]
        return [self._bound(self._first[number], self._held) for number in self._held]

    def replayed(self, steps: Sequence[Step]) -> Iterator[tuple[Step, Any]]:
        """Yield each step with its arguments; what `put` was given of it before is in its memory by then."""
        self._replayed = {}
        for step in steps:
            yield step, step.arguments if step.bound else self._bound(step.arguments, self._replayed)
            for number in step.last:
                self._replayed.pop(number, None)

    def put(self, step: Step, leaves: Sequence[Any]) -> None:
        """Put what a step has made, `leaves`, where the program has it, or into the graph's own memory."""
        for at, place in step.outputs:
            numbers = leaves[at]
            if isinstance(place, Tensor):
                if numbers.data_ptr() != place.data_ptr() or not numbers.numel():
                    _copy(place, numbers)
            else:
                numbers = _clone(numbers) if numbers._is_zerotensor() else numbers
                self._replayed[place.number] = numbers.untyped_storage()

    def _bound(self, arguments, storages):
        return tree_map(
            lambda value: (
                _tensor(value, storages[value.number]) if type(value) is Place and value.number in storages else value
            ),
            arguments,
            is_leaf=lambda value: type(value) is Place,
        )

    def _number(self, tensor):
        storage = tensor.untyped_storage()
        entry = self._numbers.get(storage._cdata)
        return entry[0] if entry is not None and entry[1]() is storage else None  # not one at a reused address

    def _place(self, tensor):
        return Place(self._number(tensor), tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())


def _tensor(place, storage):
    tensor = torch.ops.aten.empty.memory_format([0], dtype=place.dtype, device=torch.device("cpu"))
    return _set(tensor, storage, place.offset, place.shape, place.stride)


def _places(value):
    if type(value) is Place:
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _places(item)
    elif isinstance(value, dict):
        yield from _places(value.values())
