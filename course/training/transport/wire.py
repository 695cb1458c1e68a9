"""The short path of gradients: blocking sockets and frames of fixed size, agreed on at the handshake; no pickle.

A frame is a header of 32 bytes (kind, payload's length, a whole number, a float, a sequence number) and a payload:
either the tensors of the agreed layout, as raw bytes, or a short text. Two ends on one host may share the memory of
the tensors; then their bytes stay where they are, and the header says that they are there.
"""

import json
import socket
import ssl
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import torch

import course
from course.deadlines import WIRE_SILENCE
from course.training.transport.shared_memory import Halves

PROTOCOL = 4  # both sides name it at the handshake
_HEADER = struct.Struct("<4sIQdQ")
_TENSORS = ("PUSH", "PARM")
TEXT_LIMIT = 1 << 26  # bytes; the longest text of a known peer is a batch of step records, or a snapshot's piece
HANDSHAKE_LIMIT = 1 << 20  # bytes; before and during the handshake nothing longer is read


class Refused(ConnectionError):
    """The other side refused this connection, and says why; trying again is of no use."""


class Frame(NamedTuple):
    """What arrived: tensors are in `Channel.received`, a text's bytes in `payload`."""

    kind: str
    number: int
    value: float
    sequence: int
    payload: bytes

    def text(self) -> Any:
        """Return the JSON data in the payload."""
        return json.loads(self.payload)


@dataclass(frozen=True)
class Layout:
    """Names, shapes and dtypes of the tensors in a frame, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, parameters: dict[str, torch.Tensor]) -> "Layout":
        """Return the layout of `parameters`, name to tensor."""
        shapes = tuple(tuple(value.shape) for value in parameters.values())
        return cls(tuple(parameters), shapes, tuple(str(value.dtype) for value in parameters.values()))

    def as_json(self) -> list:
        """Return the layout as lists that JSON can hold."""
        return [self.names, self.shapes, self.dtypes]

    @property
    def nbytes(self) -> int:
        """The number of bytes that the tensors take in a buffer."""
        return sum(_padded(prod(shape), _dtype(dtype)) for shape, dtype in zip(self.shapes, self.dtypes, strict=True))

    def part(self, names: Sequence[str]) -> "Layout":
        """Return the layout of these names only, in this order."""
        at = [self.names.index(name) for name in names]
        return Layout(tuple(names), tuple(self.shapes[i] for i in at), tuple(self.dtypes[i] for i in at))

    def over(self, buffer: bytearray | memoryview, start: int) -> dict[str, torch.Tensor]:
        """Return name to tensor, each a view of its part of `buffer`, from byte `start` on."""
        views, at = {}, start
        for name, shape, dtype in zip(self.names, self.shapes, map(_dtype, self.dtypes), strict=True):
            count = prod(shape)
            whole = (
                torch.frombuffer(buffer, dtype=dtype, count=count, offset=at) if count else torch.empty(0, dtype=dtype)
            )
            views[name] = whole.reshape(shape)
            at += _padded(count, dtype)
        return views


class Channel:
    """One end of a connection. Every wait ends after `patience` seconds; a closed peer raises ConnectionError.

    After `agree(layout)`, `.sending` and `.received` are tensors over the buffers of the next frame out and the last
    frame in: fill the one, then `send_tensors`; `receive`, then read the other. One thread at a time: OpenSSL's
    connections are not made for one thread that reads while another writes.
    """

    def __init__(self, connection: socket.socket, patience: float):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a step is one small frame: don't collect
        connection.settimeout(patience)
        self.connection, self._header, self._tensor_bytes = connection, bytearray(_HEADER.size), -1

    def agree(self, layout: Layout, shared: Halves | None = None) -> None:
        """Make the buffers for frames of `layout`; those in `shared` (`Halves`) are the other end's as well."""
        self._tensor_bytes, self._shared = layout.nbytes, shared is not None
        if shared is not None:
            self._out = bytearray(_HEADER.size)
            self._in: bytearray | memoryview = shared.into
            self.sending = layout.over(shared.out, 0)
        else:
            self._out, self._in = bytearray(_HEADER.size + self._tensor_bytes), bytearray(max(1, self._tensor_bytes))
            self.sending = layout.over(self._out, _HEADER.size)
        self.received = layout.over(self._in, 0)

    def send(
        self, kind: str, number: int = 0, value: float = 0.0, sequence: int = 0, payload: bytes | Any = b""
    ) -> None:
        """Send a frame with a text (`payload` as bytes, or data for JSON)."""
        payload = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.connection.sendall(_HEADER.pack(kind.encode(), len(payload), number, value, sequence) + payload)

    def send_tensors(self, kind: str, number: int = 0, value: float = 0.0, sequence: int = 0) -> None:
        """Send a frame with what stands in `.sending`."""
        _HEADER.pack_into(self._out, 0, kind.encode(), self._tensor_bytes, number, value, sequence)
        self.connection.sendall(self._out)

    def receive(self, limit: int = TEXT_LIMIT) -> Frame:
        """Return the next `Frame` that is not a heartbeat; tensors (kinds PUSH and PARM) are put into `.received`.

        A text of more than `limit` bytes is not read: ConnectionError, as for a frame that was not agreed.
        """
        while True:
            self._fill(memoryview(self._header))
            kind, length, number, value, sequence = _HEADER.unpack(self._header)
            kind = kind.decode("ascii", "replace")
            if kind in _TENSORS:
                if length != self._tensor_bytes:
                    raise ConnectionError(f"a {kind} frame of {length} bytes came; {self._tensor_bytes} were agreed.")
                if not self._shared:
                    self._fill(memoryview(self._in)[:length])
                return Frame(kind, number, value, sequence, b"")
            if length > limit:
                raise ConnectionError(f"a {kind!r} frame of {length} bytes came; at most {limit} are read.")
            if kind == "HELO" and number != PROTOCOL:
                length = 0  # another protocol's payload may be shorter: don't wait
            payload = bytearray(length)
            self._fill(memoryview(payload))
            if kind != "BEAT":
                return Frame(kind, number, value, sequence, bytes(payload))

    def hang_up(self) -> None:
        """End the connection from another thread: the thread that waits on it wakes, and closes it.

        Only the thread that uses the connection closes it. A number that is freed in the middle of another thread's
        wait may be given to a new connection, and the wait would be for that one.
        """
        with suppress(OSError):  # the peer was quicker
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)  # of TCP, under a TLS that may be in use

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self.hang_up()
        self.connection.close()

    def _fill(self, view):
        while len(view):
            count = self.connection.recv_into(view)
            if count == 0:
                raise ConnectionError("the other side closed the connection.")
            view = view[count:]


def connect(
    address: tuple[str, int],
    handshake: dict[str, Any],
    context: ssl.SSLContext | None = None,
    patience: float = WIRE_SILENCE,
) -> Channel:
    """Return a `Channel` to the server at `address` (host, port), which has accepted it.

    `handshake`: a dict that says which training this is, and in what role. `context`: an `ssl.SSLContext`, or None for
    plain TCP. Raises OSError when there is no such server, Refused with the server's words when it refuses.
    """
    connection = socket.create_connection(address, timeout=patience)
    try:
        if context is not None:
            connection = context.wrap_socket(connection)
        channel = Channel(connection, patience)
        channel.send("HELO", PROTOCOL, payload={"course": course.__version__, **handshake})
        answer = channel.receive(HANDSHAKE_LIMIT)
        if answer.kind != "OKAY":
            raise Refused(answer.payload.decode(errors="replace"))
        return channel
    except BaseException:
        connection.close()
        raise


def _padded(count, dtype):
    return -(-count * dtype.itemsize // 8) * 8  # every tensor lies on a multiple of 8 bytes


def _dtype(name):
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"a frame's layout names dtype {name!r}, which this PyTorch does not have.")
    return found
