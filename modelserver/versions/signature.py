"""What goes into a model and what comes out: names, shapes and datatypes, in the words of the Open Inference Protocol.

Source of the words: github.com/kserve/open-inference-protocol, specification/protocol/inference_rest.md.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

#: The protocol's datatypes that are served -> numpy's, little-endian as the protocol's binary form is. BYTES, BF16 and
#: the unsigned ones of two bytes and more have no tensor of torch, or none of numpy.
DATATYPES = {
    "BOOL": numpy.dtype("?"),
    "UINT8": numpy.dtype("<u1"),
    "INT8": numpy.dtype("<i1"),
    "INT16": numpy.dtype("<i2"),
    "INT32": numpy.dtype("<i4"),
    "INT64": numpy.dtype("<i8"),
    "FP16": numpy.dtype("<f2"),
    "FP32": numpy.dtype("<f4"),
    "FP64": numpy.dtype("<f8"),
}


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a model: its `name`, its `datatype` (a key of `DATATYPES`), and `shape`, that of one row.

    A request of n rows has the shape `(n, *shape)`. `scaling`: in words, what was done to raw data; "" for nothing.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    scaling: str = ""

    def __str__(self):
        return f"{self.name} {self.datatype} {[-1, *self.shape]}"

    @cached_property
    def dtype(self) -> numpy.dtype:
        """The numpy dtype of an element."""
        return DATATYPES[self.datatype]

    @cached_property
    def row_elements(self) -> int:
        """Elements of one row."""
        return math.prod(self.shape)

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.row_elements * self.dtype.itemsize

    def as_json(self) -> dict[str, Any]:
        """Return it as the protocol's metadata has it: -1 stands for the number of rows."""
        tensor = {"name": self.name, "datatype": self.datatype, "shape": [-1, *self.shape]}
        return {**tensor, "parameters": {"scaling": self.scaling}} if self.scaling else tensor

    @classmethod
    def from_json(cls, tensor: dict[str, Any]) -> "TensorSpec":
        """Return what `as_json` wrote; ValueError, KeyError or TypeError for anything else."""
        name, datatype, (rows, *shape) = tensor["name"], tensor["datatype"], tensor["shape"]
        sound = isinstance(name, str) and name and rows == -1 and all(type(n) is int and n >= 0 for n in shape)
        if not sound or datatype not in DATATYPES:
            raise ValueError(f"{tensor} is no tensor: a name, shape [-1, …] and a datatype of {', '.join(DATATYPES)}")
        return cls(name, datatype, tuple(shape), tensor.get("parameters", {}).get("scaling", ""))


@dataclass(frozen=True)
class Signature:
    """The tensors that a model takes and gives, each in the order of its own arguments and results."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    def __str__(self):
        return " → ".join(", ".join(map(str, side)) for side in (self.inputs, self.outputs))

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row of all inputs."""
        return sum(spec.row_bytes for spec in self.inputs)

    def as_json(self) -> dict[str, Any]:
        """Return {"inputs": …, "outputs": …} as the protocol's metadata has them."""
        return {side: [spec.as_json() for spec in getattr(self, side)] for side in ("inputs", "outputs")}

    @classmethod
    def from_json(cls, sides_by_name: dict[str, Any]) -> "Signature":
        """Return what `as_json` wrote; ValueError, KeyError or TypeError for anything else."""
        sides = (tuple(map(TensorSpec.from_json, sides_by_name[side])) for side in ("inputs", "outputs"))
        signature = cls(*sides)
        for specs in (signature.inputs, signature.outputs):
            if not specs or len({spec.name for spec in specs}) != len(specs):
                raise ValueError("a signature has one tensor or more on each side, each with a name of its own")
        return signature


def split_rows(specs: tuple[TensorSpec, ...], rows: int, data: Any) -> list[numpy.ndarray]:
    """Return the arrays of `specs`, `(rows, *shape)` each, that lie one after the other in the bytes `data`.

    No copy: they share `data`'s memory. ValueError when `data` has another number of bytes.
    """
    wanted = rows * sum(spec.row_bytes for spec in specs)
    if len(data) != wanted:
        raise ValueError(f"{rows} rows are {wanted} bytes, not {len(data)}")
    arrays, offset = [], 0
    for spec in specs:
        flat = numpy.frombuffer(data, spec.dtype, rows * spec.row_elements, offset)
        arrays.append(flat.reshape(rows, *spec.shape))
        offset += rows * spec.row_bytes
    return arrays
