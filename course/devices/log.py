"""The placement log: every op that torch runs in this thread, forward and backward, with its device and bytes moved."""

import sys
import threading
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course.devices.names import name_of
from course.devices.notes import NOTE
from course.devices.record import OpRecord, as_text
from course.devices.schemas import Traits, traits_of
from course.draw import table

#: -1 outside a backward pass; the autograd engine numbers its passes from 0, on every thread that it uses.
_pass_number = torch._C._current_graph_task_id

#: Types that hold no tensor, told apart in a tenth of the time that isinstance takes to say no.
_PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}


class PlacementLog(Sequence):
    """A sequence of `OpRecord`, filled while the log is entered; `forward` and `backward` are its two halves.

    `print(log)` shows one line an op; a notebook shows a table. The repr counts and is the same on every machine. A log
    may be entered again, also in another thread: records are appended. It keeps no tensor alive.
    """

    def __init__(self):
        self._raw = []  # tuples; an OpRecord is made when somebody looks, not while the program runs
        self._seen = {}  # raw -> the same raw: a loop's ops repeat, and each one costs the log a pointer
        self._entered = threading.local()

    def __enter__(self):
        # A mode per entry: torch's modes belong to a thread and keep what they restore in themselves.
        recorder = _Recorder if "torch._dynamo" in sys.modules else _QuickRecorder
        mode = recorder(self._raw.append, self._seen.setdefault)
        mode.__enter__()
        self._modes().append(mode)
        return self

    def __exit__(self, *error):
        self._modes().pop().__exit__(*error)

    def __len__(self):
        return len(self._raw)

    def __getitem__(self, index):
        chosen = self._raw[index]
        return [_read(raw) for raw in chosen] if isinstance(index, slice) else _read(chosen)

    @property
    def forward(self):
        """The records of forward ops, in order."""
        return [record for record in self if not record.backward]

    @property
    def backward(self):
        """The records of ops that ran in a backward pass, in order."""
        return [record for record in self if record.backward]

    @property
    def bytes_moved(self):
        """Bytes that moved between devices, all ops together."""
        return sum(record.bytes_moved for record in self)

    def __str__(self):
        return as_text(self)

    def __repr__(self):
        back = len(self.backward)
        return f"PlacementLog({len(self) - back} ops forward, {back} backward, {self.bytes_moved:,} bytes moved)"

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = [(r.op, r.device, r.shape_text, r.dtype, r.bytes_moved, r.remarks) for r in self]
        headings = ["op", "device", "shapes", "dtype", "bytes moved", "remarks"]
        return {"text/plain": repr(self), "text/html": table(headings, rows, repr(self)).html}

    def _modes(self):
        if not hasattr(self._entered, "modes"):
            self._entered.modes = []
        return self._entered.modes


def log_placement():
    """Return a `PlacementLog`; within `with log_placement() as log:` every op that torch runs is recorded, in order.

    Sees what torch dispatches, below the names that you write: `linear` shows as `t` and `addmm`, and a copy between
    devices as `_to_copy` with its bytes. Backward passes started inside are seen too, on whatever thread they run.
    Other threads are not: a torch mode belongs to the thread that entered it; there, enter the same log again.

    >>> x = torch.ones(3, requires_grad=True)
    >>> with log_placement() as log:
    ...     (x * x).sum().backward()
    >>> [record.op for record in log.forward][:2]
    ['mul', 'sum']
    >>> "mul" in [record.op for record in log.backward]
    True
    """
    return PlacementLog()


def _record(mode, func, types, args=(), kwargs=None):
    """Run an op and append one plain tuple for it. Called for every op: no classes, no names, no stack walks here."""
    made = func(*args, **kwargs) if kwargs else func(*args)
    inputs = ()
    for arg in args:
        kind = type(arg)
        if kind is Tensor:
            inputs += ((arg.shape, arg.device, arg.dtype),)
        elif kind not in _PLAIN:
            inputs += _facts(arg)
    if kwargs:
        for arg in kwargs.values():
            if type(arg) not in _PLAIN:
                inputs += _facts(arg)
    if type(made) is Tensor:
        outputs = ((made.shape, made.device, made.dtype),)
    else:
        outputs = _facts(made)
    raw = (func, inputs, outputs, _pass_number() != -1, NOTE.text)
    mode.append(mode.seen(raw, raw))
    return made


def _facts(value):
    """Return shape, device and dtype of a tensor, or of each one in a list."""
    if isinstance(value, Tensor):
        return ((value.shape, value.device, value.dtype),)
    if isinstance(value, (list, tuple)):
        return tuple((t.shape, t.device, t.dtype) for t in value if isinstance(t, Tensor))
    return ()


class _Recorder(TorchDispatchMode):
    """The mode as torch makes it: `torch.compile` leaves its function alone, at the price of two more calls an op."""

    supports_higher_order_operators = True
    __torch_dispatch__ = _record

    def __init__(self, append, seen):
        super().__init__()
        self.append = append
        self.seen = seen


class _QuickRecorder(_Recorder):
    """Without those calls, and without importing the compiler for them: for programs that have not loaded it."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    __torch_dispatch__ = _record


def _read(raw):
    """Return the `OpRecord` of one raw tuple."""
    func, inputs, outputs, backward, note = raw
    traits = traits_of(func)
    _, device, dtype = (outputs or inputs or [((), torch.device("cpu"), None)])[0]
    moved, origin = _moved(traits, inputs, outputs, device)
    return OpRecord(
        op=traits.name,
        device=name_of(device),
        shapes=tuple(tuple(shape) for shape, _, _ in inputs),
        dtype=str(dtype).removeprefix("torch."),
        bytes_moved=moved,
        origin=origin and name_of(origin),
        made=tuple(tuple(shape) for shape, _, _ in outputs),
        backward=backward,
        view=traits.view,
        note=note,
    )


def _moved(traits: Traits, inputs, outputs, device):
    """Return the bytes of inputs that lay elsewhere than `device`, and where the first of them lay."""
    if traits.reads_to_python:  # `.item()`: one element goes to the CPU
        return (inputs[0][2].itemsize, inputs[0][1]) if device.type != "cpu" else (0, None)
    if not traits.reads_inputs or not outputs:
        return 0, None
    elsewhere = [(shape.numel() * dtype.itemsize, source) for shape, source, dtype in inputs if source != device]
    return (sum(count for count, _ in elsewhere), elsewhere[0][1]) if elsewhere else (0, None)
