"""The placement log: every op that torch runs in this thread, forward and backward, with its device and bytes moved."""

import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from timeit import Timer

import torch

from course.devices import dataflow
from course.devices.names import DeviceName
from course.devices.record import OpRecord, as_lines, as_text, sources
from course.devices.recorder import RecordedOps, recorder
from course.draw import Picture, ops, table

_OPS = 200  # a batch, about a millisecond: short enough to fit between other programs' turns
_BATCHES = 25
_ENTERED = threading.local()  # its `logs`: see `_entered_here`


@dataclass(frozen=True)
class Overhead:
    """Seconds that a log adds to an op, measured here on a small product; `ops`: how many are in this log."""

    seconds_an_op: float
    ops: int

    @property
    def seconds(self) -> float:
        """Seconds that the log added to the program that it recorded, estimated from its number of ops."""
        return self.seconds_an_op * self.ops

    def __repr__(self):
        each, every = self.seconds_an_op * 1e6, self.seconds * 1e3
        return f"{each:.1f} µs an op, measured on this machine now; about {every:.2f} ms for {self.ops} ops"


class PlacementLog(Sequence):
    """A sequence of `OpRecord`, filled while the log is entered; `forward` and `backward` are its two halves.

    `print(log)` shows one line an op; a notebook shows a table; `lines()`, `rows()` and `graph()` show it otherwise.
    The repr counts and is the same on every machine. A log may be entered again, also in another thread: records are
    appended. It keeps no tensor alive. Made on a task of a cluster, it names that task in every device. What tasks ran
    meanwhile for the thread that entered it (`gather`) follows its own records.
    """

    def __init__(self, timed: bool = False):
        self.timed = timed
        self._ops = RecordedOps()  # an OpRecord is made when it is looked at, not while the program runs
        self._gathered: list[OpRecord] = []
        self._task = _task_here()

    def __enter__(self):
        # A mode per entry: torch's modes belong to a thread and keep what they restore in themselves.
        mode = recorder(self._ops, self.timed)
        mode.__enter__()
        _entered_here().append((self, mode))
        return self

    def __exit__(self, *error):
        _, mode = _entered_here().pop()
        mode.__exit__(*error)

    def __len__(self):
        return len(self._ops.starts()) + len(self._gathered)

    def __getitem__(self, index):
        chosen = [*self._ops.starts(), *self._gathered][index]
        return [self._read(one) for one in chosen] if isinstance(index, slice) else self._read(chosen)

    def __iter__(self):
        return iter(self[:])

    def gather(self, records: Iterable[OpRecord]) -> None:
        """Add `OpRecord`s of ops that ran elsewhere, such as on a cluster's tasks; usable from any thread."""
        self._gathered.extend(records)

    @property
    def forward(self) -> list[OpRecord]:
        """The records of forward ops, in order."""
        return [record for record in self if not record.backward]

    @property
    def backward(self) -> list[OpRecord]:
        """The records of ops that ran in a backward pass, in order."""
        return [record for record in self if record.backward]

    @property
    def bytes_moved(self) -> int:
        """Bytes that moved between devices, all ops together."""
        return sum(record.bytes_moved for record in self)

    def lines(self, task: str = "/job:localhost/task:0") -> list[str]:
        """Return a line an op in the manner of TensorFlow's `log_device_placement`, devices named as ones of `task`.

        >>> import torch
        >>> with log_placement() as log:
        ...     total = (torch.ones(2) * 3).sum()
        >>> log.lines()[-1]
        'sum: (sum): /job:localhost/replica:0/task:0/device:CPU:0'
        """
        return as_lines(self, DeviceName.parse(task))

    def rows(self) -> list[dict]:
        """Return a dict an op with the fields of its `OpRecord`: what `pandas.DataFrame` takes."""
        return [record.row() for record in self]

    def edges(self) -> list[dataflow.Edge]:
        """Return, as `Edge`s between places in this log, which op made what another one reads."""
        return dataflow.edges(map(self._ops.ends, self._ops.starts()))

    def graph(self, title: str = "") -> Picture:
        """Return a `Picture` of the ops in lanes of their devices, joined by what one makes and another reads.

        Views are left out: an op that reads a view reads what it is a view of.
        """
        records = self[:]
        row = {place: row for row, place in enumerate(n for n, record in enumerate(records) if not record.view)}
        joins = dataflow.without_views(self.edges(), set(range(len(records))) - row.keys())
        joined = [(row[edge.source], row[edge.target]) for edge in joins]
        return ops([records[place] for place in row], title or repr(self), joined)

    def overhead(self) -> Overhead:
        """Return the `Overhead` of logs like this one, measured now; takes some hundredths of a second.

        The best of some batches with and without one: other work on the machine only ever adds time, so the smallest
        difference is the log's own.
        """
        a = torch.ones(4, 4)
        batch = Timer(lambda: torch.mm(a, a)).timeit
        without = with_log = float("inf")
        for _ in range(_BATCHES):
            without = min(without, batch(_OPS))
            with PlacementLog(self.timed):
                with_log = min(with_log, batch(_OPS))
        return Overhead(max(0.0, with_log - without) / _OPS, len(self))

    def __str__(self):
        return as_text(self)

    def __repr__(self):
        back = len(self.backward)
        return f"PlacementLog({len(self) - back} ops forward, {back} backward, {self.bytes_moved:,} bytes moved)"

    def _repr_mimebundle_(self, include=None, exclude=None):
        records = self[:]
        headings = ["op", "device", "shapes", "dtype", "bytes moved", "remarks"]
        rows = [(r.op, r.device_text, r.shape_text, r.dtype, r.bytes_moved, r.remarks) for r in records]
        if any(record.seconds_text for record in records):
            headings.insert(5, "time")
            rows = [(*row[:5], record.seconds_text, row[5]) for row, record in zip(rows, records, strict=True)]
        shown = table(headings, rows, repr(self), "; ".join(sources(records)))
        return {"text/plain": repr(self), "text/html": shown.html}

    def _read(self, op):
        return op if isinstance(op, OpRecord) else self._ops.read(op).on(self._task)


def entered_log() -> PlacementLog | None:
    """Return the log that this thread entered last and has not left, None where there is none."""
    entered = _entered_here()
    return entered[-1][0] if entered else None


def _entered_here():
    """Return the logs that this thread has entered, each with its mode, the last one last."""
    if not hasattr(_ENTERED, "logs"):
        _ENTERED.logs = []
    return _ENTERED.logs


def _task_here():
    """Return the name of the cluster's task whose function this is called in, "" elsewhere."""
    dask = sys.modules.get("distributed")  # a task has loaded it; nothing else needs it for this
    try:
        name = dask.get_worker().name if dask is not None else ""
    except ValueError:  # not on a task
        return ""
    return name if str(name).startswith("/job:") else ""


def log_placement(timed: bool = False) -> PlacementLog:
    """Return a `PlacementLog`; within `with log_placement() as log:` every op that torch runs is recorded, in order.

    Sees what torch dispatches, below the names that you write: `linear` shows as `t` and `addmm`, and a copy between
    devices as `_to_copy` with its bytes. Backward passes started inside are seen too, on whatever thread they run.
    Other threads are not: a torch mode belongs to the thread that entered it; there, enter the same log again. Tasks of
    a cluster are: what this thread sends by `cluster.executor`, and by `client.submit` and `dask.delayed` inside
    `cluster.at`, is logged there, and its ops (the first 10,000 of a function) are here when its result is. A `train`'s
    are not. A function from `torch.compile` runs uncompiled below a log, so that there are ops to see.

    Seconds: those of simulated GPUs' modelled clock, of an op or a copy alone, and its launch beside it (`seconds` of a
    record has both). With `timed=True` also what an op took on the CPU, measured with the few microseconds that torch
    needs to call it. A real GPU's seconds are not known: it goes on working after the op has returned.
    `log.overhead()` measures what logging costs.

    >>> import torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> with log_placement() as log:
    ...     (x * x).sum().backward()
    >>> [record.op for record in log.forward][:2]
    ['mul', 'sum']
    >>> "mul" in [record.op for record in log.backward]
    True
    """
    return PlacementLog(timed)
