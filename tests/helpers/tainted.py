"""Figures that carry where they come from: a float that says, in every text it is printed into, what kind it is.

`Figure(0.5, mark)` computes like 0.5. What is computed from it is a Figure too, and its text ends in `~m3~`, the number
of its mark in `MARKS`. So a test can run the real renderers on tainted traces and data sheets and find each number that
came from one, whatever was computed on the way. Two ways lose the mark: `float()` and NumPy; tests that rely on it must
see at least one mark.
"""

import math
import operator
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from course.traces import DataSheet, Trace


@dataclass(frozen=True)
class Mark:
    """`kind`: "modelled" or "recorded"; `origin`: the words that name hardware and source."""

    kind: str
    origin: str


MARKS = []
MARKED = re.compile(r"~m(\d+)~")


def number_of(mark):
    """Return the place of `mark` in `MARKS`, where it is entered once."""
    if mark not in MARKS:
        MARKS.append(mark)
    return MARKS.index(mark)


def marks_in(text):
    """Return the set of marks of the figures printed in `text`."""
    return {MARKS[int(number)] for number in MARKED.findall(text)}


class Marked:
    """What both kinds of number do: print their mark."""

    def __str__(self):
        return f"{self._plain(self)}~m{number_of(self.mark)}~"

    __repr__ = __str__

    def __format__(self, spec):
        return f"{format(self._plain(self), spec)}~m{number_of(self.mark)}~"

    def __reduce__(self):
        return type(self), (self._plain(self), self.mark)


class Figure(Marked, float):
    _plain = float

    def __new__(cls, value, mark):
        made = super().__new__(cls, value)
        made.mark = mark
        return made

    def __round__(self, digits=None):
        if digits is None:
            return WholeFigure(round(float(self)), self.mark)
        return Figure(round(float(self), digits), self.mark)

    def __floor__(self):
        return WholeFigure(math.floor(float(self)), self.mark)

    def __ceil__(self):
        return WholeFigure(math.ceil(float(self)), self.mark)


class WholeFigure(Marked, int):
    _plain = int

    def __new__(cls, value, mark):
        made = super().__new__(cls, value)
        made.mark = mark
        return made


def _arithmetic(name):
    operation = getattr(operator, name.strip("_"), None)

    def forward(self, other):
        if not isinstance(other, (int, float)):
            return NotImplemented
        return Figure(operation(float(self), float(other)), self.mark)

    def backward(self, other):
        if not isinstance(other, (int, float)):
            return NotImplemented
        return Figure(operation(float(other), float(self)), self.mark)

    return forward, backward


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _backward = _arithmetic(_name)
    for _class in (Figure, WholeFigure):
        setattr(_class, f"__{_name}__", _forward)
        setattr(_class, f"__r{_name}__", _backward)
for _name, _operation in (("neg", operator.neg), ("pos", operator.pos), ("abs", operator.abs)):
    setattr(Figure, f"__{_name}__", lambda self, _op=_operation: Figure(_op(float(self)), self.mark))


def tainted(thing):
    """Return a copy of a `Trace` or `DataSheet` whose figures are Figures."""
    mark = Mark("recorded" if isinstance(thing, Trace) else "modelled", thing.origin)
    if isinstance(thing, Trace):
        rows = ("matmul", "copies", "ops", "life")
        return replace(thing, **{name: tuple(_row(row, mark) for row in getattr(thing, name)) for name in rows})
    speeds = ("memory_bandwidth", "copy_bandwidth", "launch", "copy_latency")
    peak = {name: Figure(value, mark) for name, value in thing.peak.items()}
    return replace(thing, peak=peak, **{name: Figure(getattr(thing, name), mark) for name in speeds})


def _row(row, mark):
    floats = {f.name: getattr(row, f.name) for f in fields(row) if f.type in (float, "float")}
    return replace(row, **{name: Figure(value, mark) for name, value in floats.items()})


@contextmanager
def tainted_files(monkeypatch):
    """Within the `with`, every trace and data sheet that is loaded is tainted, whoever loads it.

    What the course keeps of loaded ones is forgotten at both ends, or the next test would be shown tainted figures.
    """
    _forget()
    for kind in (Trace, DataSheet):
        plain = kind.from_document.__func__
        monkeypatch.setattr(kind, "from_document", classmethod(lambda cls, doc, plain=plain: tainted(plain(cls, doc))))
    yield
    monkeypatch.undo()
    _forget()


def _forget():
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("course", "simgpu"):
            for kept in list(vars(module).values()):
                if callable(getattr(kept, "cache_clear", None)):
                    kept.cache_clear()
