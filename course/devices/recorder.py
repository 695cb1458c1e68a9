"""The recorder of a log: a mode of torch that keeps a plain tuple for each op, to be read as an `OpRecord` later."""

import sys
import threading
from threading import get_ident
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course.devices.declarations import traits_of
from course.devices.moves import NOTES
from course.devices.names import name_of
from course.devices.record import OpRecord
from simgpu import active
from simgpu.ops.declarations import INDEXING

#: -1 outside a backward pass; the autograd engine numbers its passes from 0, on every thread that it uses.
_pass_number = torch._C._current_graph_task_id

#: Types that hold no tensor, told apart in a tenth of the time that isinstance takes to say no.
_PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}

_MADE = "made"  # among an op's facts: what follows was made, what stands before was read


class RecordedOps:
    """A flat list, for each op a tuple of facts and then a number for each of its tensors' storages.

    Equal facts are stored once: a loop's ops repeat. Flat, and one `extend` an op, so that threads don't mix up theirs.
    """

    def __init__(self):
        self.flat = []
        self.stored = {}  # facts -> the same facts
        self.ops = {}  # id -> op: an op's own hash takes longer than all else here
        self._starts = []
        self._walked = 0
        self._walking = threading.Lock()

    def starts(self) -> list[int]:
        """Return the places in `flat` at which ops begin."""
        with self._walking:
            begins = [n for n in range(self._walked, len(self.flat)) if type(self.flat[n]) is tuple]
            self._starts += [n for n in begins if not traits_of(self.ops[self.flat[n][0]]).marks]
            self._walked = max(self._walked, begins[-1] + 1 if begins else 0)
            return self._starts

    def read(self, start: int) -> OpRecord:
        """Return the `OpRecord` of the op that begins at `start`."""
        op, backward, note, timing, *facts = self.flat[start]
        inputs, outputs = _sides(facts)
        return _as_record(self.ops[op], backward, note, timing or (None, "", "", 0.0), inputs, outputs)

    def ends(self, start: int) -> tuple[list, list, bool]:
        """Return what the op at `start` reads, what it makes, as pairs (storage, shape), and whether it is a view."""
        op, _, _, _, *facts = self.flat[start]
        inputs, outputs = _sides(facts)
        stores = self.flat[start + 1 : start + 1 + len(inputs) + len(outputs)]
        pairs = [(store, fact.shape) for store, fact in zip(stores, inputs + outputs, strict=True)]
        traits = traits_of(self.ops[op])
        return (pairs[: len(inputs)] if traits.reads_inputs else []), pairs[len(inputs) :], traits.view


def recorder(recorded: RecordedOps, timed: bool) -> TorchDispatchMode:
    """Return a mode that adds every op to `recorded`.

    While GPUs are simulated with their clock's seconds; when `timed`, with those that an op took on the CPU.
    """
    # Torch's own way to make a mode loads the compiler; a program that has loaded it needs a mode made that way.
    made_for = _Recorder if "torch._dynamo" in sys.modules else _QuickRecorder
    gpus = active()
    run = _timed if timed else None
    if gpus is not None:
        run = _modelled(gpus.clock, run)
    return made_for(recorded, run)


def _record(mode, func, types, args=(), kwargs=None):
    """Run an op and keep what it was. Called for every op: no classes, no names, no stack walks here."""
    if mode.run is None:
        result, timing = func(*args, **kwargs) if kwargs else func(*args), None
    else:
        result, timing = mode.run(func, args, kwargs or {})
    facts = [id(func), _pass_number() != -1, NOTES.get(get_ident(), "") if NOTES else "", timing]
    stores = [None]
    for arg in args:
        kind = type(arg)
        if kind is Tensor:
            facts += arg.shape, arg.device, arg.dtype
            try:
                stores.append(arg.untyped_storage()._cdata)
            except NotImplementedError:
                stores.append(0)  # sparse: in no single storage
        elif kind not in _PLAIN:
            _add(arg, facts, stores)
    if kwargs:
        for arg in kwargs.values():
            if type(arg) not in _PLAIN:
                _add(arg, facts, stores)
    facts.append(_MADE)
    if type(result) is Tensor:
        facts += result.shape, result.device, result.dtype
        stores.append(_storage(result))
    else:
        _add(result, facts, stores)
    mode.ops[facts[0]] = func
    facts = tuple(facts)
    stores[0] = mode.store(facts, facts)
    mode.extend(stores)
    return result


def _storage(tensor):
    """Return a number for the memory that a tensor's numbers lie in, 0 for one that has no single such memory."""
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:  # a sparse tensor, or one of torch.func's
        return 0


def _add(value, facts, stores):
    """Add shape, device, dtype and storage of a tensor, or of each one in a list."""
    if isinstance(value, Tensor):
        numbers = getattr(value, "numbers", value)  # where a simulated tensor keeps its numbers
        facts += value.shape, value.device if numbers is value else _Unreal(value.device), value.dtype
        stores.append(_storage(numbers))
    elif isinstance(value, (list, tuple)):
        for inside in value:
            if type(inside) not in _PLAIN:
                _add(inside, facts, stores)


def _timed(func, args, kwargs):
    start = perf_counter()
    result = func(*args, **kwargs)
    return result, (perf_counter() - start, "measured", "", 0.0)


def _modelled(clock, otherwise):
    """Return a function that runs an op and asks `clock` what it handed to a device; where nothing, `otherwise`."""

    def run(func, args, kwargs):
        before = clock.last
        result, timing = otherwise(func, args, kwargs) if otherwise else (func(*args, **kwargs), None)
        booked = clock.last
        return result, timing if booked is before else (booked.seconds, "modelled", clock.model.origin, booked.launch)

    return run


class _Recorder(TorchDispatchMode):
    """The mode as torch makes it: `torch.compile` leaves its function alone, at the price of two more calls an op."""

    supports_higher_order_operators = True
    __torch_dispatch__ = _record

    def __init__(self, recorded, run):
        super().__init__()
        self.extend = recorded.flat.extend
        self.store = recorded.stored.setdefault
        self.ops = recorded.ops
        self.run = run


class _QuickRecorder(_Recorder):
    """Without those calls, and without importing the compiler for them: for programs that have not loaded it."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    __torch_dispatch__ = _record


class _Fact(NamedTuple):
    """The facts that are recorded of a tensor."""

    shape: torch.Size
    device: torch.device
    dtype: torch.dtype
    simulated: bool


class _Unreal(NamedTuple):
    """A simulated device among the facts."""

    device: torch.device


def _sides(facts):
    """Return the `_Fact`s before and after the mark that what follows was made."""
    middle = facts.index(_MADE)
    sides = []
    for flat in (facts[:middle], facts[middle + 1 :]):
        threes = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        sides.append(
            [_Fact(s, d.device, t, True) if type(d) is _Unreal else _Fact(s, d, t, False) for s, d, t in threes]
        )
    return sides


def _as_record(func, backward, note, timing, inputs, outputs):
    traits = traits_of(func)
    first = (outputs or inputs or [_Fact((), torch.device("cpu"), None, False)])[0]
    moved, origin = _moved(traits, inputs, outputs, first.device)
    seconds, kind, source, launch = timing
    if kind == "measured" and {first.device.type, *(fact.device.type for fact in inputs)} != {"cpu"}:
        seconds, kind, source = None, "", ""  # other devices go on working after the op has returned
    return OpRecord(
        op=traits.name,
        device=name_of(first.device),
        shapes=tuple(tuple(fact.shape) for fact in inputs),
        dtype=str(first.dtype).removeprefix("torch."),
        bytes_moved=moved,
        origin=origin and name_of(origin),
        made=tuple(tuple(fact.shape) for fact in outputs),
        backward=backward,
        view=traits.view,
        note=note,
        simulated=any(fact.simulated for fact in inputs + outputs),
        seconds=seconds,
        seconds_kind=kind,
        seconds_origin=source,
        launch=launch,
        waits=traits.waits and _waited_for(traits, inputs),
    )


def _waited_for(traits, inputs):
    """Return whether the host waits for a device: an op with a mask does, one with indices does not."""
    masks = traits.name not in INDEXING or any(fact.dtype in (torch.bool, torch.uint8) for fact in inputs[1:])
    return masks and any(fact.device.type != "cpu" for fact in inputs)


def _moved(traits, inputs, outputs, device):
    """Return the bytes of inputs that lay elsewhere than `device`, and where the first of them lay."""
    if traits.reads_to_python:  # `.item()`: one element goes to the CPU
        return (inputs[0].dtype.itemsize, inputs[0].device) if device.type != "cpu" else (0, None)
    if not traits.reads_inputs or not outputs:
        return 0, None
    elsewhere = [fact for fact in inputs if fact.device != device]
    count = sum(fact.shape.numel() * fact.dtype.itemsize for fact in elsewhere)
    return (count, elsewhere[0].device) if elsewhere else (0, None)
