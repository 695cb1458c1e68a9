"""Kinds of evidence: what may come back from the sandbox, fixed by the grader before it reads a byte.

What an answer gives crosses one pipe as raw bytes. The grader states the kind first; the side in the sandbox
(`inside/values.py`) turns the value into exactly that, or says in a sentence why it can't. Reading is bounded: every
size is known or checked before its bytes are read, nothing is unpickled, and text is text. After the status byte of an
answer the bytes of a kind are, little-endian:

| kind | bytes |
|---|---|
| `Flag` | 1: 0 or 1 |
| `Integer` | 16, signed |
| `Number` | 8, a float64 |
| `Text`, `Json` | 4 for the length, then that much UTF-8 |
| `Array` | 8 for each free axis, then the elements in C order |
| `Optional_` | 1: 0 for None, 1 and then the kind |
| `Tuple_` | its kinds, one after another |
| `List_` | 4 for the count, then that many of its kind |
| `Nothing` | none |

>>> Array("uint8", (3, None)).describe()
'an array of uint8, shape (3, any)'
"""

import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from grader.inside import values

#: The most that one answer may hold, in bytes, unless a kind states its own.
LIMIT = 64 * 1024 * 1024
DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


class Malformed(ValueError):
    """The bytes aren't the evidence asked for; the text names the fault."""


@dataclass(frozen=True)
class Kind:
    """A kind of evidence, the base of those below. `_words` names it; `_read` reads its bytes."""

    _words: ClassVar[Any] = ""

    def plan(self) -> dict:
        """Return the kind as plain data, by which the sandbox's side (`inside/values.py`) makes its bytes."""
        settings = {field.name: _spelled(getattr(self, field.name)) for field in fields(self)}
        return {"is": type(self).__name__.rstrip("_").lower(), **settings}

    def describe(self) -> str:
        """Return the kind in words for students."""
        return self._words

    def read(self, take: Callable[[int], bytes]) -> object:
        """Return the value whose bytes come next; `take(count)` gives them. Raises Malformed for others."""
        return self._read(take)

    def _read(self, take: Callable[[int], bytes]) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    _words = "True or False"

    def _read(self, take):
        return _bit(take)


@dataclass(frozen=True)
class Integer(Kind):
    """A whole number of at most 127 bits; a float that is whole counts as one."""

    _words = "a whole number"

    def _read(self, take):
        return int.from_bytes(take(16), "little", signed=True)


@dataclass(frozen=True)
class Number(Kind):
    """A real number, as float64; it may be infinite or NaN, which the judge decides on."""

    _words = "a number"

    def _read(self, take):
        (value,) = struct.unpack("<d", take(8))
        return value


@dataclass(frozen=True)
class Text(Kind):
    """A string of at most `limit` bytes in UTF-8."""

    limit: int = 65536
    _words = "a string"

    def _read(self, take):
        try:
            return take(_length(take, self.limit)).decode()
        except UnicodeDecodeError as error:
            raise Malformed(f"text that is not UTF-8: {error.reason}") from None


@dataclass(frozen=True)
class Json(Kind):
    """Lists, dictionaries with string keys, numbers, strings, True, False and None, of the shape that `schema` says.

    A schema is an example made of types: `int`, `float` (whole numbers count), `str`, `bool`, `None`; `[S]` a list of
    S; `(S, T)` a list of exactly these; `{"a": S}` a dictionary with exactly these keys; `{str: S}` one with any
    keys. A schema of `object` lets anything through. Tuples arrive as lists.
    """

    schema: object = object
    limit: int = 65536

    @property
    def _words(self):
        return _schema_text(self.schema)

    def _read(self, take):
        data = take(_length(take, self.limit))
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise Malformed("text that is not JSON") from None
        if not fits(value, self.schema):
            raise Malformed(f"not {self.describe()}")
        return value


@dataclass(frozen=True)
class Array(Kind):
    """A numpy array or a tensor of this dtype and shape; None in the shape is an axis of any length.

    With `exact_dtype=False`, the default, another numeric dtype will do where every value survives (a board of int64
    for one of uint8; any real floats for float64 or float32).
    """

    dtype: str
    shape: tuple[int | None, ...]
    exact_dtype: bool = False
    limit: int = LIMIT

    def __post_init__(self):
        if self.dtype not in DTYPES:
            raise ValueError(f"Array(dtype={self.dtype!r}): the dtypes are {', '.join(DTYPES)}.")
        object.__setattr__(self, "shape", tuple(None if n is None else int(n) for n in self.shape))
        if self._bytes([n or 0 for n in self.shape]) > self.limit:
            raise ValueError(f"Array(shape={self.shape}) is more than limit={self.limit} bytes: raise limit.")

    @property
    def _words(self):
        shape = ", ".join("any" if n is None else str(n) for n in self.shape)
        return f"an array of {self.dtype}, shape ({shape}{',' if len(self.shape) == 1 else ''})"

    def _read(self, take):
        shape = [int.from_bytes(take(8), "little") if n is None else n for n in self.shape]
        size = self._bytes(shape)
        if size > self.limit:
            raise Malformed(f"an array of {size} bytes; the limit is {self.limit}")
        data = bytearray(take(size))  # a bytearray, so that the judge's array can be written to
        if self.dtype == "bool" and data.translate(None, b"\0\1"):
            raise Malformed("an array of bool with bytes that are neither 0 nor 1")
        little = np.dtype(self.dtype).newbyteorder("<")
        return np.asarray(np.frombuffer(data, little).reshape(shape), self.dtype)

    def _bytes(self, shape):
        return math.prod(shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Optional_(Kind):
    """None, or `kind`."""

    kind: Kind

    @property
    def _words(self):
        return f"None or {self.kind.describe()}"

    def _read(self, take):
        return self.kind.read(take) if _bit(take) else None


@dataclass(frozen=True)
class Tuple_(Kind):
    """A tuple or list of exactly these kinds: `Tuple_(Integer(), Number())`; it arrives as a tuple."""

    kinds: tuple[Kind, ...]

    def __init__(self, *kinds: Kind) -> None:
        object.__setattr__(self, "kinds", kinds)

    @property
    def _words(self):
        return f"({', '.join(kind.describe() for kind in self.kinds)})"

    def _read(self, take):
        return tuple(kind.read(take) for kind in self.kinds)


@dataclass(frozen=True)
class List_(Kind):
    """A list or tuple of at most `limit` values of one kind; it arrives as a list."""

    kind: Kind
    limit: int = 1000

    @property
    def _words(self):
        return f"a list, each {self.kind.describe()}"

    def _read(self, take):
        return [self.kind.read(take) for _ in range(_length(take, self.limit))]


@dataclass(frozen=True)
class Nothing(Kind):
    """None: for a function whose effect counts, not its value."""

    _words = "None"

    def _read(self, take):
        return None


def fits(value: object, schema: object) -> bool:
    """Return whether `value`, as JSON gives it, is of the shape that `schema` says (see `Json`).

    >>> fits([{"op": "mm", "bytes": 4}], [{"op": str, "bytes": int}]), fits([1, True], [int])
    (True, False)
    """
    return values.fits(value, _spelled(schema))


def _spelled(schema):
    """Return a kind's field as plain data, which can be sent: types by their names, None for the key `str`."""
    if isinstance(schema, Kind):
        return schema.plan()
    if isinstance(schema, type):
        return schema.__name__
    if isinstance(schema, (list, tuple)):
        return type(schema)(map(_spelled, schema))
    if isinstance(schema, dict):
        return {None if key is str else key: _spelled(value) for key, value in schema.items()}
    return schema


def _schema_text(schema):
    if schema is None or schema is object:
        return "None" if schema is None else "plain data"
    if isinstance(schema, type):
        return {int: "a whole number", float: "a number", str: "a string", bool: "True or False"}[schema]
    if isinstance(schema, list):
        return f"a list, each {_schema_text(schema[0])}"
    if isinstance(schema, tuple):
        return f"({', '.join(map(_schema_text, schema))})"
    if set(schema) == {str}:
        return f"a dictionary, each value {_schema_text(schema[str])}"
    return "{" + ", ".join(f"{key!r}: {_schema_text(value)}" for key, value in schema.items()) + "}"


def _length(take, limit):
    (length,) = struct.unpack("<I", take(4))
    if length > limit:
        raise Malformed(f"{length} bytes or items; the limit is {limit}")
    return length


def _bit(take):
    byte = take(1)
    if byte not in (b"\0", b"\1"):
        raise Malformed(f"byte {byte.hex()} where 00 or 01 was due")
    return byte == b"\1"
