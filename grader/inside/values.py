"""The two directions of the pipe, as the sandbox sees them: requests come in as plain data, evidence goes out as bytes.

A request is a JSON text and the raw bytes of its arrays and byte strings behind it; the grader packs it (`pack`), this
side unpacks it. Evidence is what `encode` makes of an answer, for the kind that the request names; the table of bytes
is in `marking/result_types.py`.
"""

import json
import math
import operator
import struct
from typing import Any


class NotThat(Exception):
    """The answer isn't of the kind asked for; the text says what it is instead."""


class AsTensor:
    """An `array` that becomes a torch tensor in the sandbox; made here without torch."""

    def __init__(self, array: Any) -> None:
        self.array = array


def pack(value: object) -> bytes:
    """Return `value` (plain data: numbers, strings, bytes, None, arrays; lists, tuples, dicts of these) as bytes."""
    blobs: list[bytes] = []
    text = json.dumps(_packed(value, blobs)).encode()
    return b"".join([struct.pack("<II", len(text), len(blobs)), text, *(struct.pack("<Q", len(b)) + b for b in blobs)])


def unpack(data: bytes) -> Any:
    """Return the value that `pack` was given."""
    size, count = struct.unpack_from("<II", data)
    offset, blobs = 8 + size, []
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", data, offset)
        blobs.append(data[offset + 8 : offset + 8 + length])
        offset += 8 + length
    return _unpacked(json.loads(data[8 : 8 + size]), blobs)


def _packed(value, blobs):
    # every container is tagged, so that no value can be taken for another
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) is int:
        return {"i": str(value)} if abs(value) >> 53 else value
    if type(value) is float:
        return {"f": value.hex()}
    if type(value) in (list, tuple):
        return {"l" if type(value) is list else "t": [_packed(item, blobs) for item in value]}
    if type(value) is dict:
        return {"d": [[_packed(k, blobs), _packed(v, blobs)] for k, v in value.items()]}
    if isinstance(value, (bytes, bytearray)):
        blobs.append(bytes(value))
        return {"b": len(blobs) - 1}
    if isinstance(value, AsTensor):
        return {"T": _packed(value.array, blobs)}
    if hasattr(value, "detach"):
        return {"T": _packed(value.detach().cpu().numpy(), blobs)}
    if hasattr(value, "dtype") and hasattr(value, "tobytes") and value.dtype.kind in "biufcSU":
        blobs.append(value.tobytes())
        return {"a": [value.dtype.str, list(value.shape), len(blobs) - 1]}
    raise TypeError(
        f"a {type(value).__name__} can't be sent to the sandbox. Arguments are None, bool, int, float, str, bytes, "
        f"numpy arrays, torch tensors, and lists, tuples and dicts of these."
    )


def _unpacked(node, blobs):
    if not isinstance(node, dict):
        return node
    ((tag, body),) = node.items()
    if tag == "a":
        import numpy

        return numpy.frombuffer(bytearray(blobs[body[2]]), numpy.dtype(body[0])).reshape(body[1])
    if tag == "T":
        import torch

        return torch.from_numpy(_unpacked(body, blobs))
    return {
        "i": int,
        "f": float.fromhex,
        "b": blobs.__getitem__,
        "l": lambda items: [_unpacked(item, blobs) for item in items],
        "t": lambda items: tuple(_unpacked(item, blobs) for item in items),
        "d": lambda items: {_unpacked(k, blobs): _unpacked(v, blobs) for k, v in items},
    }[tag](body)


def encode(plan: dict, value: object) -> bytes:
    """Return `value` as the bytes of the kind that `plan` describes; raises NotThat where it isn't of that kind."""
    try:
        return KINDS[plan["is"]](plan, value)
    except (OverflowError, struct.error):
        raise NotThat(f"{named(value)}, too large") from None
    except (TypeError, ValueError):
        raise NotThat(named(value)) from None


def fits(value: Any, schema: Any) -> bool:
    """Return whether `value`, as JSON gives it, is of the shape that `schema` says.

    `schema` is that of `result_types.Json` as plain data: types by name, None for a key that may be any.
    """
    if schema == "object":
        return True
    if schema is None:
        return value is None
    if isinstance(schema, str):
        return type(value).__name__ == schema or (schema == "float" and type(value) is int)
    if isinstance(schema, list):
        return type(value) is list and all(fits(item, schema[0]) for item in value)
    if isinstance(schema, tuple):
        return type(value) is list and len(value) == len(schema) and all(map(fits, value, schema))
    if set(schema) == {None}:
        return type(value) is dict and all(fits(item, schema[None]) for item in value.values())
    return type(value) is dict and value.keys() == schema.keys() and all(fits(value[k], schema[k]) for k in schema)


def named(value: object) -> str:
    """Return what `value` is, in a few words: its type, and its dtype and shape where it has them."""
    kind = type(value).__name__
    if value is None or value is ...:
        return "None" if value is None else "..."
    text = f"{'an' if kind[:1] in tuple('aeiou') else 'a'} {kind}"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        text += f" of {str(dtype).replace('torch.', '')}, shape {tuple(shape)}"
    return text


def _flag(plan, value):
    value = _plain(value)
    if not isinstance(value, bool):
        raise NotThat(named(value))
    return b"\1" if value else b"\0"


def _integer(plan, value):
    value = _plain(value)
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise NotThat(f"{named(value)}, {str(value)[:40]}")
    return operator.index(int(value) if isinstance(value, float) else value).to_bytes(16, "little", signed=True)


def _number(plan, value):
    value = _plain(value)
    if isinstance(value, (bool, str, bytes)):
        raise NotThat(named(value))
    return struct.pack("<d", float(value))


def _text(plan, value):
    if not isinstance(value, str):
        raise NotThat(named(value))
    return _sized(value.encode(), plan["limit"])


def _json(plan, value):
    text = json.dumps(value, default=_plainer)
    data = _sized(text.encode(), plan["limit"])
    if not fits(json.loads(text), plan["schema"]):
        raise NotThat(text if len(text) <= 200 else f"{text[:200]} …")
    return data


def _array(plan, value):
    import numpy

    array = _as_array(value)
    shape, wanted = plan["shape"], numpy.dtype(plan["dtype"])
    if len(shape) != array.ndim or any(n is not None and n != m for n, m in zip(shape, array.shape)):  # noqa: B905
        raise NotThat(f"an array of shape {array.shape}")
    if array.dtype != wanted:
        if plan["exact_dtype"] or array.dtype.kind not in "biufc":
            raise NotThat(f"an array of {array.dtype}")
        array = _cast(array, wanted)
    if math.prod(array.shape) * wanted.itemsize > plan["limit"]:
        raise NotThat(f"an array of shape {array.shape}, more than the {plan['limit']} bytes allowed")
    free = [m for n, m in zip(shape, array.shape) if n is None]  # noqa: B905
    little = array.astype(wanted.newbyteorder("<"), copy=False)
    return struct.pack(f"<{len(free)}Q", *free) + little.tobytes()


def _optional(plan, value):
    return b"\0" if value is None else b"\1" + encode(plan["kind"], value)


def _tuple(plan, value):
    items = list(value)
    if len(items) != len(plan["kinds"]):
        raise NotThat(f"{named(value)} of {len(items)}")
    return b"".join(encode(kind, item) for kind, item in zip(plan["kinds"], items))  # noqa: B905


def _list(plan, value):
    if isinstance(value, (str, bytes, dict)):
        raise NotThat(named(value))
    items = []
    for item in value:
        if len(items) == plan["limit"]:
            raise NotThat(f"more than {plan['limit']} items")
        items.append(encode(plan["kind"], item))
    return struct.pack("<I", len(items)) + b"".join(items)


def _nothing(plan, value):
    if value is not None:
        raise NotThat(named(value))
    return b""


_FUNCTIONS = (_flag, _integer, _number, _text, _json, _array, _optional, _tuple, _list, _nothing)
KINDS = {function.__name__[1:]: function for function in _FUNCTIONS}


def _sized(data, limit):
    if len(data) > limit:
        raise NotThat(f"{len(data)} bytes of text, more than the {limit} allowed")
    return struct.pack("<I", len(data)) + data


def _plain(value):
    # a number of numpy or torch, or an array of one, as Python's own
    if hasattr(value, "item") and hasattr(value, "shape"):
        if math.prod(value.shape) != 1:
            raise NotThat(named(value))
        return value.item()
    return value


def _plainer(value):
    # what JSON doesn't know: numpy's and torch's numbers and arrays, sets, ranges
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, range):
        return list(value)
    if hasattr(value, "_asdict"):
        return value._asdict()
    raise NotThat(named(value))


def _as_array(value):
    import numpy

    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    elif not hasattr(value, "__array__") and not isinstance(value, (list, tuple)):
        raise NotThat(named(value))
    array = numpy.asarray(value)
    if array.dtype.kind == "O":
        raise NotThat(named(value))
    return array


def _cast(array, wanted):
    import numpy

    if array.dtype.kind == "c" and wanted.kind != "c":
        raise NotThat(f"an array of {array.dtype}")
    with numpy.errstate(all="ignore"):
        copy = array.astype(wanted)
        if wanted.kind in "biu" and not numpy.array_equal(copy, array):
            raise NotThat(f"an array of {array.dtype} with values that {wanted} can't hold")
    return copy
