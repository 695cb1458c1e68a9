"""The short path of gradients: blocking sockets and frames of fixed size, agreed on at the handshake; no pickle.

A frame is a header of 24 bytes (kind, payload's length, a whole number, a float) and a payload: either the tensors of
the agreed layout, as raw bytes, or a short text.
"""

import json
import socket
import struct
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import torch

PROTOCOL = 1  # both sides name it at the handshake
_HEADER = struct.Struct("<4sIQd")
_TEXT_LIMIT = 1 << 26  # bytes; the longest text is a batch of step records


class Frame(NamedTuple):
    """What arrived: tensors are in `Channel.received`, a text's bytes in `payload`."""

    kind: str
    number: int
    value: float
    payload: bytes

    def text(self):
        """Return the JSON data in the payload."""
        return json.loads(self.payload)


@dataclass(frozen=True)
class Layout:
    """Names, shapes and dtypes of the tensors in a frame, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, parameters):
        """Return the layout of `parameters`, name to tensor."""
        shapes = tuple(tuple(value.shape) for value in parameters.values())
        return cls(tuple(parameters), shapes, tuple(str(value.dtype) for value in parameters.values()))

    @classmethod
    def from_json(cls, fields):
        """Return the layout that `as_json` wrote."""
        names, shapes, dtypes = fields
        return cls(tuple(names), tuple(tuple(shape) for shape in shapes), tuple(dtypes))

    def as_json(self):
        """Return the layout as lists that JSON can hold."""
        return [self.names, self.shapes, self.dtypes]

    def over(self, buffer, start):
        """Return name to tensor, each a view of its part of `buffer`, and the number of bytes they take.

        Call it with `buffer=None` for the bytes alone.
        """
        views, at = {}, start
        for name, shape, dtype in zip(self.names, self.shapes, map(_dtype, self.dtypes), strict=True):
            count = prod(shape)
            if buffer is not None:
                flat = (
                    torch.frombuffer(buffer, dtype=dtype, count=count, offset=at)
                    if count
                    else torch.empty(0, dtype=dtype)
                )
                views[name] = flat.reshape(shape)
            at += -(-count * dtype.itemsize // 8) * 8  # keep every tensor on a multiple of 8 bytes
        return views, at - start


def _dtype(name):
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"a frame's layout names dtype {name!r}, which this PyTorch does not have.")
    return found


class Channel:
    """One end of a connection. Every wait ends after `patience` seconds; a closed peer raises ConnectionError.

    After `agree(layout)`, `.sending` and `.received` are tensors over the buffers of the next frame out and the last
    frame in: fill the one, then `send_tensors`; `receive`, then read the other.
    """

    def __init__(self, connection, patience):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a step is one small frame: don't collect
        connection.settimeout(patience)
        self._connection, self._header, self._tensor_bytes = connection, bytearray(_HEADER.size), -1

    def agree(self, layout):
        """Make the buffers for frames of `layout`."""
        self._tensor_bytes = layout.over(None, 0)[1]
        self._out, self._in = bytearray(_HEADER.size + self._tensor_bytes), bytearray(max(1, self._tensor_bytes))
        self.sending, _ = layout.over(self._out, _HEADER.size)
        self.received, _ = layout.over(self._in, 0)

    def send(self, kind, number=0, value=0.0, payload=b""):
        """Send a frame with a text (`payload` as bytes, or data for JSON)."""
        payload = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self._connection.sendall(_HEADER.pack(kind.encode(), len(payload), number, value) + payload)

    def send_tensors(self, kind, number=0, value=0.0):
        """Send a frame with what stands in `.sending`."""
        _HEADER.pack_into(self._out, 0, kind.encode(), self._tensor_bytes, number, value)
        self._connection.sendall(self._out)

    def receive(self):
        """Return the next `Frame`; tensors (kinds PUSH and PARM) are put into `.received`."""
        self._fill(memoryview(self._header))
        kind, length, number, value = _HEADER.unpack(self._header)
        kind = kind.decode("ascii", "replace")
        if kind in ("PUSH", "PARM"):
            if length != self._tensor_bytes:
                raise ConnectionError(f"a {kind} frame of {length} bytes came; {self._tensor_bytes} were agreed.")
            self._fill(memoryview(self._in)[:length])
            return Frame(kind, number, value, b"")
        if length > _TEXT_LIMIT:
            raise ConnectionError(f"a {kind!r} frame of {length} bytes came; at most {_TEXT_LIMIT} are read.")
        payload = bytearray(length)
        self._fill(memoryview(payload))
        return Frame(kind, number, value, bytes(payload))

    def close(self):
        """Close the connection, and wake whoever waits on it in another thread. Idempotent."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was quicker
        self._connection.close()

    def _fill(self, view):
        while len(view):
            count = self._connection.recv_into(view)
            if count == 0:
                raise ConnectionError("the other side closed the connection.")
            view = view[count:]


def connect(address, hello, context=None, patience=10.0):
    """Return a `Channel` to the server at `address` (host, port), which has let us in.

    `hello`: a dict that says who we are. `context`: an `ssl.SSLContext`, or None for plain TCP. Raises OSError when
    there is no such server, ConnectionError with the server's words when it refuses.
    """
    connection = socket.create_connection(address, timeout=patience)
    try:
        if context is not None:
            connection = context.wrap_socket(connection)
        channel = Channel(connection, patience)
        channel.send("HELO", PROTOCOL, payload=hello)
        answer = channel.receive()
        if answer.kind != "OKAY":
            raise ConnectionError(answer.payload.decode(errors="replace"))
        return channel
    except BaseException:
        connection.close()
        raise
