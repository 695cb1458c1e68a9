"""A problem's data and code as one short text, by which a journal knows whether it goes on with the same problem."""

import functools
import hashlib
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import numpy
import torch

_PLAIN = (bool, int, float, complex, str, bytes, range, PurePath, type(None))
_ALIKE = (tuple, frozenset, types.CodeType, types.MethodType)  # whether two of them are one object says nothing
_LIBRARIES = ("site-packages", "dist-packages")
#: Of a class: where it stands, not what it does, and what pickling adds.
_OF_EVERY_CLASS = (
    *("__module__", "__doc__", "__dict__", "__weakref__"),
    *("__firstlineno__", "__static_attributes__", "__slotnames__"),
)


def fingerprint(problem: Any) -> str:
    """Return 16 hexadecimal digits that change with the data and the code of `problem`, or of what makes problems.

    Data: its attributes, tensors and arrays by their bytes. Code: its class's functions, as Python compiled them, so
    that lines and comments don't count and Python's version does, and what these name: functions, classes, constants
    and tensors of modules. Of installed packages, and of Python's own, names alone count.
    """
    reader = _Reader()
    reader.read(problem)
    return reader.digest.hexdigest()[:16]


class _Reader:
    """Feeds a value, with all that it is made of, to `digest`."""

    def __init__(self):
        self.digest = hashlib.sha256()
        self._seen: dict[int, Any] = {}  # by id, and held: no other object may get it

    def read(self, value: Any) -> None:
        """Feed one value; one that comes again is named alone, so circles end."""
        self._write(type(value).__qualname__)
        if isinstance(value, _PLAIN):
            return self._write(repr(value))
        if isinstance(value, (types.FunctionType, type)) and not _is_own(value):
            return self._write(f"{value.__module__}.{value.__qualname__}")
        if not isinstance(value, _ALIKE):
            if id(value) in self._seen:
                return self._write("again")
            self._seen[id(value)] = value
        if isinstance(value, (torch.Tensor, numpy.ndarray)):
            self._read_array(value)
        elif isinstance(value, (set, frozenset)):
            self._write(*sorted(map(repr, value)))
        elif isinstance(value, (list, tuple, Mapping)):
            self._read_all(value if not isinstance(value, Mapping) else _flat(value))
        else:
            self._read_object(value)
        self._write("end")

    def _read_array(self, value):
        if isinstance(value, torch.Tensor):
            plain = value.detach().cpu().contiguous()
            self._write(
                str(plain.dtype), str(tuple(plain.shape)), plain.reshape(-1).view(torch.uint8).numpy().tobytes()
            )
        else:
            data = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
            self._write(str(value.dtype), str(value.shape), data)

    def _read_object(self, value):
        if isinstance(value, types.FunctionType):
            self._read_function(value)
        elif isinstance(value, types.CodeType):
            self._write(value.co_code, repr(value.co_names), repr(value.co_varnames))
            self._read_all(value.co_consts)
        elif isinstance(value, types.MethodType):
            self._read_all([value.__func__, value.__self__])
        elif isinstance(value, functools.partial):
            self._read_all([value.func, value.args, value.keywords])
        elif hasattr(value, "__wrapped__"):  # a class's or static method, a function with a cache
            self.read(value.__wrapped__)
        elif isinstance(value, property):
            self._read_all([value.fget, value.fset])
        elif isinstance(value, type):
            self._read_all(value.__bases__)
            self._read_all(_flat({name: part for name, part in vars(value).items() if name not in _OF_EVERY_CLASS}))
        elif type(value).__module__.partition(".")[0] not in sys.stdlib_module_names:
            self.read(type(value))
            self._read_all(_flat(getattr(value, "__dict__", {})))

    def _read_function(self, function):
        self._read_all([function.__code__, function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                self.read(cell.cell_contents)
            except ValueError:  # it is empty still
                continue
        for name in _names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, (*_PLAIN, tuple, torch.Tensor, numpy.ndarray)) or _is_own(value):
                self._read_all([name, value])  # a list or a dict may be a cache

    def _read_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.read(value)

    def _write(self, *parts: str | bytes) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else part.encode()
            self.digest.update(len(data).to_bytes(8, "little") + data)


def _is_own(value):
    """Return whether `value` is a function or a class that is neither Python's nor an installed package's."""
    value = getattr(value, "__wrapped__", value)
    if not isinstance(value, (types.FunctionType, type)):
        return False
    module = sys.modules.get(value.__module__ or "")
    file = getattr(module, "__file__", None) or ""
    is_library = any(part in file for part in _LIBRARIES)
    return (value.__module__ or "").partition(".")[0] not in sys.stdlib_module_names and not is_library


def _flat(mapping):
    return [part for item in mapping.items() for part in item]


def _names(code):
    """Return the names that a function's code, and the code within it, looks up."""
    inner = (name for const in code.co_consts if isinstance(const, types.CodeType) for name in _names(const))
    return dict.fromkeys([*code.co_names, *inner])
