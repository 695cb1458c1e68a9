"""The short path of gradients: blocking sockets and frames of fixed size, agreed on at the handshake; no pickle.

A frame is a header of 32 bytes (kind, payload's length, a whole number, a float, a sequence number) and a payload of
up to 256 TiB: either the tensors of the agreed layout, as raw bytes, or a short text. Two ends on one host may share
the memory of the tensors; then their bytes stay where they are, and the header says that they are there.
"""

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import torch

import course
from course.deadlines import WIRE_HEARTBEAT_EVERY, WIRE_SILENCE, WIRE_STOOD_STILL
from course.training.transport.shared_memory import Halves

PROTOCOL = 5  # both sides name it at the handshake
_HEADER = struct.Struct("<4sIQdQ")  # the length's upper bits are the upper 16 of the whole number's place
_PIECE = 1 << 20  # bytes sent at a time: each has the whole patience, and no other thread waits long for its turn
_LOW, _NUMBER = (1 << 32) - 1, (1 << 48) - 1
_TENSORS = ("PUSH", "PARM")
TEXT_LIMIT = 1 << 26  # bytes; the longest text of a known peer is a batch of step records, or a snapshot's piece
HANDSHAKE_LIMIT = 1 << 20  # bytes; before and during the handshake nothing longer is read


class Refused(ConnectionError):
    """The other side refused this connection, and says why; trying again is of no use."""


class Pieces(list[bytes]):
    """A payload in pieces, which are sent one after the other: a large one is never copied in one go."""


class Frame(NamedTuple):
    """What arrived: tensors are in `Channel.received`, a text's bytes in `payload`."""

    kind: str
    number: int
    value: float
    sequence: int
    payload: bytes | bytearray

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
    connections are not made for one thread that reads while another writes. Only `beat` may come from another one.
    """

    def __init__(self, connection: socket.socket, patience: float):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a step is one small frame: don't collect
        connection.settimeout(patience)
        self.connection, self._header, self._tensor_bytes = connection, bytearray(_HEADER.size), -1
        self._in_use, self._last_sent = threading.Lock(), 0.0

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
        """Send a frame with a text (`payload` as bytes, as a list of pieces of it, or data for JSON)."""
        pieces = payload if isinstance(payload, Pieces) else [payload]
        pieces = [piece if isinstance(piece, bytes) else json.dumps(piece).encode() for piece in pieces]
        header = _header(kind, sum(map(len, pieces)), number, value, sequence)
        with self._in_use:
            self._send(header + pieces[0] if len(pieces[0]) < _PIECE else header)
            for piece in pieces[len(pieces[0]) < _PIECE :]:
                self._send(piece)

    def send_tensors(self, kind: str, number: int = 0, value: float = 0.0, sequence: int = 0) -> None:
        """Send a frame with what stands in `.sending`."""
        self._out[: _HEADER.size] = _header(kind, self._tensor_bytes, number, value, sequence)
        with self._in_use:
            self._send(self._out)

    def beat(self) -> None:
        """Send a heartbeat, from any thread; nothing where the connection is in use, or was a moment ago."""
        if time.monotonic() - self._last_sent < WIRE_HEARTBEAT_EVERY / 2 or not self._in_use.acquire(blocking=False):
            return
        try:
            self._send(_header("BEAT", 0, 0, 0.0, 0))
        finally:
            self._in_use.release()

    def receive(self, limit: int = TEXT_LIMIT) -> Frame:
        """Return the next `Frame` that is not a heartbeat; tensors (kinds PUSH and PARM) are put into `.received`.

        A text of more than `limit` bytes is not read: ConnectionError, as for a frame that was not agreed.
        """
        with self._in_use:
            return self._receive(limit)

    def _receive(self, limit):
        while True:
            self._fill(memoryview(self._header))
            kind, low, number, value, sequence = _HEADER.unpack(self._header)
            kind, length, number = kind.decode("ascii", "replace"), low | number >> 48 << 32, number & _NUMBER
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
                return Frame(kind, number, value, sequence, payload)

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

    def _send(self, data):
        self._last_sent = time.monotonic()
        if len(data) <= _PIECE:
            return self.connection.sendall(data)
        with memoryview(data) as view:
            for at in range(0, len(view), _PIECE):
                self.connection.sendall(view[at : at + _PIECE])

    def _fill(self, view):
        while len(view):
            began = time.monotonic()
            try:
                count = self.connection.recv_into(view)
            except TimeoutError:
                # a laptop that slept, a process that was stopped: the silence was its own, and says nothing
                if time.monotonic() - began > (self.connection.gettimeout() or 0.0) + WIRE_STOOD_STILL:
                    continue
                raise
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


def _header(kind, length, number, value, sequence):
    return _HEADER.pack(kind.encode(), length & _LOW, number | length >> 32 << 48, value, sequence)


def _padded(count, dtype):
    return -(-count * dtype.itemsize // 8) * 8  # every tensor lies on a multiple of 8 bytes


def _dtype(name):
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"a frame's layout names dtype {name!r}, which this PyTorch does not have.")
    return found
