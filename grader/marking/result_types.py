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
from dataclasses import dataclass

import numpy as np

from grader.inside import values

#: The most that one answer may hold, in bytes, unless a kind states its own.
LIMIT = 64 * 1024 * 1024
DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


class Malformed(ValueError):
    """What came back isn't the evidence asked for: it names what was wrong with it."""


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def plan(self):
        return {"kind": "flag"}

    def describe(self):
        return "True or False"

    def read(self, read):
        (byte,) = read(1)
        return bool(_one_of(byte, (0, 1)))


@dataclass(frozen=True)
class Integer:
    """A whole number of at most 127 bits; a float that is whole counts as one."""

    def plan(self):
        return {"kind": "integer"}

    def describe(self):
        return "a whole number"

    def read(self, read):
        return int.from_bytes(read(16), "little", signed=True)


@dataclass(frozen=True)
class Number:
    """A real number, as float64; it may be infinite or NaN, which the judge decides on."""

    def plan(self):
        return {"kind": "number"}

    def describe(self):
        return "a number"

    def read(self, read):
        return struct.unpack("<d", read(8))[0]


@dataclass(frozen=True)
class Text:
    """A string of at most `limit` bytes in UTF-8."""

    limit: int = 65536

    def plan(self):
        return {"kind": "text", "limit": self.limit}

    def describe(self):
        return "a string"

    def read(self, read):
        try:
            return read(_length(read, self.limit)).decode()
        except UnicodeDecodeError as error:
            raise Malformed(f"text that is not UTF-8: {error.reason}") from None


@dataclass(frozen=True)
class Json:
    """Lists, dictionaries with string keys, numbers, strings, True, False and None, of the shape that `schema` says.

    A schema is an example made of types: `int`, `float` (whole numbers count), `str`, `bool`, `None`; `[S]` a list of
    S; `(S, T)` a list of exactly these; `{"a": S}` a dictionary with exactly these keys; `{str: S}` one with any
    keys. A schema of `object` lets anything through. Tuples arrive as lists.
    """

    schema: object = object
    limit: int = 65536

    def plan(self):
        return {"kind": "json", "schema": _spelled(self.schema), "limit": self.limit}

    def describe(self):
        return _schema_text(self.schema)

    def read(self, read):
        data = read(_length(read, self.limit))
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise Malformed("text that is not JSON") from None
        if not fits(value, self.schema):
            raise Malformed(f"not {self.describe()}")
        return value


@dataclass(frozen=True)
class Array:
    """A numpy array or a tensor of this dtype and shape; None in the shape is an axis of any length.

    With `exact_dtype=False`, the default, another numeric dtype will do where every value survives (a board of int64
    for one of uint8; any real floats for float64 or float32).
    """

    dtype: str
    shape: tuple
    exact_dtype: bool = False
    limit: int = LIMIT

    def __post_init__(self):
        if self.dtype not in DTYPES:
            raise ValueError(f"Array(dtype={self.dtype!r}): the dtypes are {', '.join(DTYPES)}.")
        if self._bytes([n or 0 for n in self.shape]) > self.limit:
            raise ValueError(f"Array(shape={self.shape}) is more than limit={self.limit} bytes: raise limit.")

    def plan(self):
        shape = [None if n is None else int(n) for n in self.shape]
        return {"kind": "array", "dtype": self.dtype, "shape": shape, "exact": self.exact_dtype, "limit": self.limit}

    def describe(self):
        shape = ", ".join("any" if n is None else str(n) for n in self.shape)
        return f"an array of {self.dtype}, shape ({shape}{',' if len(self.shape) == 1 else ''})"

    def read(self, read):
        shape = [struct.unpack("<Q", read(8))[0] if n is None else int(n) for n in self.shape]
        size = self._bytes(shape)
        if size > self.limit:
            raise Malformed(f"an array of {size} bytes; the limit is {self.limit}")
        data = bytearray(read(size))  # a bytearray, so that the judge's array can be written to
        if self.dtype == "bool" and data.translate(None, b"\0\1"):
            raise Malformed("an array of bool with bytes that are neither 0 nor 1")
        little = np.dtype(self.dtype).newbyteorder("<")
        return np.frombuffer(data, little).reshape(shape).astype(self.dtype, copy=False)

    def _bytes(self, shape):
        return math.prod(shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Optional_:
    """None, or `kind`."""

    kind: object

    def plan(self):
        return {"kind": "optional", "of": self.kind.plan()}

    def describe(self):
        return f"None or {self.kind.describe()}"

    def read(self, read):
        (byte,) = read(1)
        return self.kind.read(read) if _one_of(byte, (0, 1)) else None


@dataclass(frozen=True, init=False)
class Tuple_:
    """A tuple or list of exactly these kinds: `Tuple_(Integer(), Number())`; it arrives as a tuple."""

    kinds: tuple

    def __init__(self, *kinds):
        object.__setattr__(self, "kinds", kinds)

    def plan(self):
        return {"kind": "tuple", "of": [kind.plan() for kind in self.kinds]}

    def describe(self):
        return f"({', '.join(kind.describe() for kind in self.kinds)})"

    def read(self, read):
        return tuple(kind.read(read) for kind in self.kinds)


@dataclass(frozen=True)
class List_:
    """A list or tuple of at most `limit` values of one kind; it arrives as a list."""

    kind: object
    limit: int = 1000

    def plan(self):
        return {"kind": "list", "of": self.kind.plan(), "limit": self.limit}

    def describe(self):
        return f"a list, each {self.kind.describe()}"

    def read(self, read):
        return [self.kind.read(read) for _ in range(_length(read, self.limit))]


@dataclass(frozen=True)
class Nothing:
    """None: for a function that is asked for what it does, not for what it returns."""

    def plan(self):
        return {"kind": "nothing"}

    def describe(self):
        return "None"

    def read(self, read):
        return None


def fits(value, schema):
    """Whether `value`, as JSON gives it, is of the shape that `schema` says (see `Json`).

    >>> fits([{"op": "mm", "bytes": 4}], [{"op": str, "bytes": int}]), fits([1, True], [int])
    (True, False)
    """
    return values.fits(value, _spelled(schema))


def _spelled(schema):
    """Return `schema` as plain data, which can be sent: types by their names, None for the key `str`."""
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


def _length(read, limit):
    (length,) = struct.unpack("<I", read(4))
    if length > limit:
        raise Malformed(f"{length} bytes or items; the limit is {limit}")
    return length


def _one_of(byte, legal):
    if byte not in legal:
        raise Malformed(f"byte {byte} where one of {legal} was due")
    return byte
