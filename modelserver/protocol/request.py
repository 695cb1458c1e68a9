"""An inference request: its JSON, and the binary parts after it, held to the model's signature."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import orjson

from modelserver.protocol.errors import wrong
from modelserver.protocol.numbers import array_of, finite
from modelserver.versions.signature import Signature
from modelserver.versions.version import DEFAULT_SIGNATURE

#: Triton's parameters that say where a tensor's data is, or what comes in its place: it is another request without.
_CHANGES_DATA = ("shared_memory_", "classification")


@dataclass(frozen=True)
class InferRequest:
    """What one caller asks: `rows` rows, one buffer of elements an input, in the signature's order.

    `outputs`: for each output asked for, its place in the signature and whether it is to be binary. `id`: the caller's.
    `signature`: the name of the signature that answers.
    """

    id: str
    rows: int
    inputs: tuple[Any, ...]
    outputs: tuple[tuple[int, bool], ...]
    signature: str = DEFAULT_SIGNATURE


def read_request(
    body: bytes | bytearray | memoryview,
    header_size: int | None,
    signatures: Mapping[str, Signature],
    largest: int,
) -> InferRequest:
    """Return the request in `body`, whose first `header_size` bytes are JSON and the rest binary; None: all is JSON.

    `signatures`: those of the version that is asked, by name. `largest`: rows that a request may have. Raises Refused,
    status 400, with what is wrong and what is legal.
    """
    content, rest = _parts(body, header_size)
    return checked_request(content, rest, signatures, largest)


def checked_request(
    content: dict[str, Any], rest: Any, signatures: Mapping[str, Signature], largest: int
) -> InferRequest:
    """Return the request that `content` is, as JSON has it; the bytes `rest` are the binary data of its inputs.

    Raises Refused as `read_request` does.
    """
    _check_keys(content, {"id", "parameters", "inputs", "outputs"}, "the request")
    caller = content.get("id", "")
    if type(caller) is not str or len(caller) > 200:
        raise wrong("id: give a text of at most 200 characters, or leave it out.")
    parameters = _parameters(content, {"binary_data_output": bool, "signature_name": str}, "the request")
    name = parameters.get("signature_name", DEFAULT_SIGNATURE)
    if name not in signatures:
        raise wrong(f"parameter signature_name: {name!r:.60}; this version has {', '.join(signatures)}.")
    signature = signatures[name]
    inputs, rows = _inputs(content.get("inputs"), rest, signature, largest)
    outputs = _outputs(content.get("outputs"), bool(parameters.get("binary_data_output")), signature)
    return InferRequest(caller, rows, inputs, outputs, name)


def _parts(body, header_size):
    if header_size is not None and header_size > len(body):
        raise wrong(
            f"header Inference-Header-Content-Length: {header_size}, and the body has {len(body)} bytes; it is the "
            "size of the JSON at the start of the body."
        )
    head, rest = (body, b"") if header_size is None else (body[:header_size], memoryview(body)[header_size:])
    try:
        content = orjson.loads(head)
    except orjson.JSONDecodeError as error:
        hint = "" if header_size is not None else " (with binary parts, Inference-Header-Content-Length says its size)"
        raise wrong(f"the body is no JSON: {error}{hint}. NaN and infinity are no JSON either.") from None
    if type(content) is not dict:
        raise wrong('the body is no JSON object; it begins with {"inputs": [{"name": …, "shape": …, …}]}.')
    return content, rest


def _inputs(tensors, rest, signature, largest):
    specs = {spec.name: spec for spec in signature.inputs}
    if type(tensors) is not list or not all(type(tensor) is dict for tensor in tensors):
        raise wrong(f"inputs: give a list of objects, one for each of {', '.join(specs)}.")
    buffers: dict[str, Any] = {}
    rows, offset = 0, 0
    for tensor in tensors:
        name = tensor.get("name")
        spec = specs.get(name) if type(name) is str else None
        if spec is None or name in buffers:
            raise wrong(f"inputs: {'a second ' if spec else ''}{name!r:.60}; the model takes {', '.join(specs)}.")
        _check_keys(tensor, {"name", "shape", "datatype", "parameters", "data"}, f"input {name}")
        rows = _rows(tensor, spec, rows, largest)
        buffers[name], size = _buffer(tensor, spec, rows, rest, offset)
        offset += size
    if missing := [name for name in specs if name not in buffers]:
        raise wrong(f"inputs: {missing[0]} is missing; the model takes {', '.join(specs)}.")
    if offset != len(rest):
        raise wrong(
            f"the body has {len(rest)} bytes of binary data; binary_data_size says {offset} for all inputs together."
        )
    return tuple(buffers[name] for name in specs), rows


def _rows(tensor, spec, rows, largest):
    if tensor.get("datatype") != spec.datatype:
        raise wrong(f"input {spec.name}: datatype {tensor.get('datatype')!r:.40}; the model takes {spec.datatype}.")
    shape = tensor.get("shape")
    legal = f"[rows, {', '.join(map(str, spec.shape))}]" if spec.shape else "[rows]"
    if type(shape) is not list or not all(type(length) is int for length in shape) or len(shape) > 32:
        raise wrong(f"input {spec.name}: shape {shape!r:.60}; give a list of whole numbers, {legal}.")
    if tuple(shape[1:]) != spec.shape or not shape or not 1 <= shape[0] <= largest:
        raise wrong(f"input {spec.name}: shape {shape!r:.60}; the model takes {legal}, rows from 1 to {largest}.")
    if rows and shape[0] != rows:
        raise wrong(f"input {spec.name}: {shape[0]} rows, and another input has {rows}; all have as many.")
    return shape[0]


def _buffer(tensor, spec, rows, rest, offset):
    """Return the elements of an input, and how many bytes of the binary `rest` from `offset` on they took."""
    parameters = _parameters(tensor, {"binary_data_size": int}, f"input {spec.name}")
    size = parameters.get("binary_data_size")
    if (size is None) == ("data" not in tensor):
        raise wrong(
            f"input {spec.name}: give either data, or the parameter binary_data_size and the bytes after the JSON."
        )
    if size is None:
        return array_of(tensor["data"], spec, rows).data.cast("B"), 0
    wanted = rows * spec.row_bytes
    if size != wanted:
        raise wrong(f"input {spec.name}: binary_data_size {size}; {rows} rows of {spec.datatype} are {wanted} bytes.")
    if offset + size > len(rest):
        raise wrong(
            f"input {spec.name}: binary_data_size {size}, and {len(rest) - offset} bytes are left after the JSON. "
            "Is Inference-Header-Content-Length the size of the JSON?"
        )
    part = rest[offset : offset + size]
    array = numpy.frombuffer(part, spec.dtype) if size else numpy.empty(0, spec.dtype)
    finite(array, spec)
    if spec.dtype.kind == "b" and size and numpy.frombuffer(part, numpy.uint8).max() > 1:
        raise wrong(f"input {spec.name}: a byte of BOOL is 0 or 1.")
    return part, size


def _outputs(tensors, binary, signature):
    if tensors is None or tensors == []:
        return tuple((at, binary) for at in range(len(signature.outputs)))
    places = {spec.name: at for at, spec in enumerate(signature.outputs)}
    if type(tensors) is not list or not all(type(tensor) is dict for tensor in tensors):
        raise wrong(f"outputs: give a list of objects, each with a name of {', '.join(places)}; or leave it out.")
    chosen: dict[int, bool] = {}
    for tensor in tensors:
        name = tensor.get("name")
        at = places.get(name) if type(name) is str else None
        if at is None or at in chosen:
            raise wrong(f"outputs: {'a second ' if at is not None else ''}{name!r:.60}; it gives {', '.join(places)}.")
        _check_keys(tensor, {"name", "parameters"}, f"output {name}")
        parameters = _parameters(tensor, {"binary_data": bool}, f"output {name}")
        chosen[at] = parameters.get("binary_data", binary)
    return tuple(chosen.items())


def _check_keys(content, legal, where):
    if odd := content.keys() - legal:
        raise wrong(f"{where}: {min(odd)!r:.60} is not known; there are {', '.join(sorted(legal))}.")


def _parameters(content, legal, where):
    """Return the parameters of an object in `legal`; others are ignored, as Triton does, if the answer is the same."""
    parameters = content.get("parameters")
    if parameters is None:
        return {}
    if type(parameters) is not dict:
        raise wrong(f"{where}: parameters is an object.")
    for name, value in parameters.items():
        if name.startswith(_CHANGES_DATA):
            raise wrong(
                f"{where}: the parameter {name!r:.60} is not supported; leave it out. Supported: {', '.join(legal)}."
            )
        if name not in legal:
            continue
        if type(value) is not legal[name] or (legal[name] is int and value < 0):
            kind = {bool: "true or false", int: "a whole number, 0 or more", str: "a text"}[legal[name]]
            raise wrong(f"{where}: parameter {name} is {value!r:.40}; give {kind}.")
    return parameters
