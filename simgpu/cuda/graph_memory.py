"""Where the tensors of a CUDA graph lie: in memory that the program has, or in the graph's own."""

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
    """An op of a graph: `run(*given)` returns what it makes, and the words of an assert that fails, or None.

    `given`: its plain arguments, those made in the capture as `Place`s.
    `kept`: where among its results each new tensor is, and its `Place`. `part`: engine, seconds, name, for the clock.
    `line`: the program's, if its kernel asserts. `last`: storages not needed after it.
    """

    run: Callable[..., Any]
    given: Any
    kept: list[tuple[int, Any]]
    part: tuple[str, float, str]
    line: str
    last: list[int] = field(default_factory=list)
    bound: bool = False  # whether no `Place` is left in `given`


class Places:
    """The storages that a capture makes, by number. The program alone holds them until `settle`."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[int, weakref.ref]] = {}  # address of a storage -> its number, and itself
        self._count = 0
        self._first: dict[int, Place] = {}  # number -> the tensor that it was made for
        self._kept: dict[int, Any] = {}  # number -> storage that the program still had at the end
        self._now: dict[int, Any] = {}  # number -> storage during a replay

    def made(self, tensor: Tensor) -> bool:
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

    def noted(self, given: Any) -> Any:
        """Return arguments with a `Place` for each plain tensor that the capture has made."""
        return tree_map(lambda one: self._place(one) if isinstance(one, Tensor) and self.made(one) else one, given)

    def settle(self, steps: Sequence[Step]) -> list[Tensor]:
        """Take hold of the storages that the program still has, at the end; return a tensor of the whole of each."""
        for number, storage in self._numbers.values():
            alive = storage()
            if alive is not None:
                self._kept[number] = alive
        self._numbers.clear()
        seen: set[int] = set(self._kept)
        for step in reversed(steps):
            used = {one.number for one in _places([step.given, [place for _, place in step.kept]])}
            step.last = [*(used - seen)]
            seen |= used
            step.given = self._bound(step.given, self._kept)
            step.bound = not any(_places(step.given))
            step.kept = [(at, self._bound(place, self._kept)) for at, place in step.kept]
        return [self._bound(self._first[number], self._kept) for number in self._kept]

    def replayed(self, steps: Sequence[Step]) -> Iterator[tuple[Step, Any]]:
        """Yield each step with its arguments; what `put` was given of it before is in its memory by then."""
        self._now = {}
        for step in steps:
            yield step, step.given if step.bound else self._bound(step.given, self._now)
            for number in step.last:
                self._now.pop(number, None)

    def put(self, step: Step, leaves: Sequence[Any]) -> None:
        """Put what a step has made, `leaves`, where the program has it, or into the graph's own memory."""
        for at, place in step.kept:
            made = leaves[at]
            if isinstance(place, Tensor):
                if made.data_ptr() != place.data_ptr() or not made.numel():
                    _copy(place, made)
            else:
                made = _clone(made) if made._is_zerotensor() else made
                self._now[place.number] = made.untyped_storage()

    def _bound(self, given, storages):
        return tree_map(
            lambda one: _tensor(one, storages[one.number]) if type(one) is Place and one.number in storages else one,
            given,
            is_leaf=lambda one: type(one) is Place,
        )

    def _number(self, tensor):
        storage = tensor.untyped_storage()
        known = self._numbers.get(storage._cdata)
        return known[0] if known is not None and known[1]() is storage else None  # not one at a reused address

    def _place(self, tensor):
        return Place(self._number(tensor), tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())


def _tensor(place, storage):
    made = torch.ops.aten.empty.memory_format([0], dtype=place.dtype, device=torch.device("cpu"))
    return _set(made, storage, place.offset, place.shape, place.stride)


def _places(value):
    if type(value) is Place:
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _places(one)
    elif isinstance(value, dict):
        yield from _places(value.values())
