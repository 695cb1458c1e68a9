"""How a log sees ops: a mode of torch that keeps a plain tuple for each, and what such a tuple says when it is read."""

import sys
from time import perf_counter

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course.devices.machine import simulation
from course.devices.names import name_of
from course.devices.notes import NOTE
from course.devices.record import OpRecord
from course.devices.schemas import Traits, traits_of

#: -1 outside a backward pass; the autograd engine numbers its passes from 0, on every thread that it uses.
_pass_number = torch._C._current_graph_task_id

#: Types that hold no tensor, told apart in a tenth of the time that isinstance takes to say no.
_PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}


def recorder(append, seen, timed):
    """Return a mode that gives `append` a tuple for each op; `seen(raw, raw)` returns an equal one kept before.

    While GPUs are simulated the tuples have their clock's seconds; when `timed`, those that an op took on the CPU.
    """
    # Torch's own way to make a mode loads the compiler; a program that has loaded it needs a mode made that way.
    made_for = _Recorder if "torch._dynamo" in sys.modules else _QuickRecorder
    gpus = simulation()
    run = _timed if timed else None
    if gpus is not None:
        run = _modelled(gpus.clock, run)
    return made_for(append, seen, run)


def _record(mode, func, types, args=(), kwargs=None):
    """Run an op and append one plain tuple for it. Called for every op: no classes, no names, no stack walks here."""
    if mode.run is None:
        made, timing = func(*args, **kwargs) if kwargs else func(*args), None
    else:
        made, timing = mode.run(func, args, kwargs or {})
    inputs = ()
    for arg in args:
        kind = type(arg)
        if kind is Tensor:
            try:
                inputs += ((arg.shape, arg.device, arg.dtype, arg.untyped_storage()._cdata, False),)
            except NotImplementedError:  # no storage of its own
                inputs += _facts(arg)
        elif kind not in _PLAIN:
            inputs += _facts(arg)
    if kwargs:
        for arg in kwargs.values():
            if type(arg) not in _PLAIN:
                inputs += _facts(arg)
    if type(made) is Tensor:
        try:
            outputs = ((made.shape, made.device, made.dtype, made.untyped_storage()._cdata, False),)
        except NotImplementedError:
            outputs = _facts(made)
    else:
        outputs = _facts(made)
    raw = (func, inputs, outputs, _pass_number() != -1, NOTE.text, timing)
    mode.append(mode.seen(raw, raw))
    return made


def _facts(value):
    """Return shape, device, dtype, storage and whether it is simulated, of a tensor or of each one in a list."""
    if isinstance(value, Tensor):
        numbers = getattr(value, "numbers", value)  # where a simulated tensor keeps its numbers
        return ((value.shape, value.device, value.dtype, _storage(numbers), numbers is not value),)
    if isinstance(value, (list, tuple)):
        return tuple(fact for inside in value if isinstance(inside, Tensor) for fact in _facts(inside))
    return ()


def _storage(tensor):
    """Return a number for the memory that a tensor's numbers lie in, 0 for one that has no single such memory."""
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:  # a sparse tensor, or one of torch.func's
        return 0


def _timed(func, args, kwargs):
    """Run an op; return what it makes and what the stopwatch says."""
    start = perf_counter()
    made = func(*args, **kwargs)
    return made, (perf_counter() - start, "measured", "")


def _modelled(clock, otherwise):
    """Return a function that runs an op and asks `clock` what it handed to a device; where nothing, `otherwise`."""

    def run(func, args, kwargs):
        before = clock.last
        made, timing = otherwise(func, args, kwargs) if otherwise else (func(*args, **kwargs), None)
        booked = clock.last
        return made, timing if booked is before else (booked.seconds, "modelled", clock.model.origin)

    return run


class _Recorder(TorchDispatchMode):
    """The mode as torch makes it: `torch.compile` leaves its function alone, at the price of two more calls an op."""

    supports_higher_order_operators = True
    __torch_dispatch__ = _record

    def __init__(self, append, seen, run):
        super().__init__()
        self.append = append
        self.seen = seen
        self.run = run


class _QuickRecorder(_Recorder):
    """Without those calls, and without importing the compiler for them: for programs that have not loaded it."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    __torch_dispatch__ = _record


def read(raw):
    """Return the `OpRecord` of one raw tuple."""
    func, inputs, outputs, backward, note, timing = raw
    traits = traits_of(func)
    _, device, dtype, _, _ = (outputs or inputs or [((), torch.device("cpu"), None, 0, False)])[0]
    moved, origin = _moved(traits, inputs, outputs, device)
    seconds, kind, source = timing or (None, "", "")
    if kind == "measured" and {device.type, *(fact[1].type for fact in inputs)} != {"cpu"}:
        seconds, kind = None, ""  # other devices go on working after the op has returned
    return OpRecord(
        op=traits.name,
        device=name_of(device),
        shapes=tuple(tuple(fact[0]) for fact in inputs),
        dtype=str(dtype).removeprefix("torch."),
        bytes_moved=moved,
        origin=origin and name_of(origin),
        made=tuple(tuple(fact[0]) for fact in outputs),
        backward=backward,
        view=traits.view,
        note=note,
        simulated=any(fact[4] for fact in inputs + outputs),
        seconds=seconds,
        seconds_kind=kind,
        seconds_origin=source,
    )


def ends(raw):
    """Return what an op reads, what it makes, as pairs (storage, shape), and whether it is a view."""
    func, inputs, outputs, *_ = raw
    traits = traits_of(func)
    reads, made = ([(fact[3], fact[0]) for fact in facts] for facts in (inputs, outputs))
    return (reads if traits.reads_inputs else []), made, traits.view


def _moved(traits: Traits, inputs, outputs, device):
    """Return the bytes of inputs that lay elsewhere than `device`, and where the first of them lay."""
    if traits.reads_to_python:  # `.item()`: one element goes to the CPU
        return (inputs[0][2].itemsize, inputs[0][1]) if device.type != "cpu" else (0, None)
    if not traits.reads_inputs or not outputs:
        return 0, None
    elsewhere = [(shape.numel() * dtype.itemsize, source) for shape, source, dtype, *_ in inputs if source != device]
    return (sum(count for count, _ in elsewhere), elsewhere[0][1]) if elsewhere else (0, None)
