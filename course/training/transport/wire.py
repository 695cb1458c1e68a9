"""The short path of gradients: blocking sockets and frames of fixed size, agreed on at the handshake; no pickle.

A frame is a header of 32 bytes (kind, payload's length, a whole number, a float, a sequence number) and a payload of
up to 256 TiB: either the tensors of the agreed layout, as raw bytes, or a short text. Two ends on one host may share
the memory of the tensors; then their bytes stay where they are, and the header says that they are there. Such headers,
and all else from then on, go over pipes beside the connection, which is left to say when it ends.
"""

import json
import selectors
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import course
from course.training.transport.layout import Layout
from course.training.transport.pipes import CLOSED, Pipes
from course.training.transport.shared_memory import Halves

#: Whoever has nothing to send on a connection of a training sends a heartbeat this often.
WIRE_HEARTBEAT_EVERY = 0.5
#: Without a byte for so long, the other end of a connection counts as gone: five heartbeats in a row are missing.
WIRE_SILENCE = 3.0
#: A wait that ended so much later than it was to was this process's own standstill: a laptop slept, the process was
#: stopped. What the other end did meanwhile is not known, so it gets the whole time again.
WIRE_STOOD_STILL = 1.0

PROTOCOL = 7  # both sides name it at the handshake
_HEADER = struct.Struct("<4sIQdQ")  # the length's upper bits are the upper 16 of the whole number's place
_RECORD = 1 << 14  # bytes of a record of TLS: what is sent in one comes whole, or not yet
UNREAD = 600.0  # seconds of heartbeats that fit into a connection's buffers unread, with room to spare
_PIECE = 1 << 20  # bytes sent at a time: each has the whole patience, and no other thread waits long for its turn
_LOW, _NUMBER = (1 << 32) - 1, (1 << 48) - 1
_TENSORS = ("PUSH", "PARM")
_NOT_YET = (ssl.SSLWantReadError, BlockingIOError)
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
        """Return the JSON data in the payload; ValueError where there are none."""
        try:
            return json.loads(self.payload)
        except RecursionError:  # a stranger's: we nest nothing
            raise ValueError("the text is nested too deeply to be read") from None


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
        #: What frames go over: the connection, or pipes beside it.
        self.wire: socket.socket | Pipes = connection
        self._in_use, self._last_sent = threading.Lock(), 0.0
        self.unread_since: float | None = None  # from when on the other end works and reads nothing; None: it reads

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

    def go_over_to(self, pipes: Pipes, kind: str = "", number: int = 0) -> None:
        """Send and read all further frames over `pipes`; a last one by the connection, if there is a `kind`."""
        with self._in_use:
            if kind:
                self._send(_header(kind, 0, number, 0.0, 0))
            pipes.watch(self.connection)
            self.wire = pipes

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
        clock, since = time.monotonic(), self.unread_since
        if clock - self._last_sent < WIRE_HEARTBEAT_EVERY / 2 or (since is not None and clock - since > UNREAD):
            return
        if not self._in_use.acquire(blocking=False):
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
            while (frame := self._frame(limit)).kind == "BEAT":
                pass
            return frame

    def _frame(self, limit, count=0):
        """Return the next frame, of whose header `count` bytes are here."""
        self._fill(memoryview(self._header)[count:])
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
        return Frame(kind, number, value, sequence, payload)

    @property
    def is_short(self) -> bool:
        """Whether the agreed tensors are sent and looked through in no time: in one record of TLS, or a shared MiB."""
        return len(self._out) <= _RECORD and self._tensor_bytes <= _PIECE

    @property
    def watched(self) -> "set[socket.socket | Pipes]":
        """What a selector waits for: frames come over one of them, and each may end the connection."""
        return {self.wire, self.connection}

    def arrived(self, limit: int = TEXT_LIMIT) -> Frame | None:
        """Return the frame that has come, which may be a heartbeat; None where none has. The socket must not block."""
        with self._in_use:
            try:
                count = self.wire.recv_into(self._header)
            except _NOT_YET:
                return None
            if count == 0:
                raise ConnectionError(CLOSED)
            return self._frame(limit, count)

    def hang_up(self) -> None:
        """End the connection from another thread: the thread that waits on it wakes, and closes it.

        Only the thread that uses the connection closes it. A number that is freed in the middle of another thread's
        wait may be given to a new connection, and the wait would be for that one.
        """
        if isinstance(self.wire, Pipes):
            self.wire.hang_up()
        with suppress(OSError):  # the peer was quicker
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)  # of TCP, under a TLS that may be in use

    def close(self) -> None:
        """End the connection and close it, once no other thread uses it. Idempotent."""
        self.hang_up()
        with self._in_use:
            self.connection.close()
            self.wire.close()

    def _send(self, data):
        self._last_sent = time.monotonic()
        if len(data) <= _PIECE:
            return self.wire.sendall(data)
        with memoryview(data) as view:
            for at in range(0, len(view), _PIECE):
                self.wire.sendall(view[at : at + _PIECE])

    def _fill(self, view):
        while len(view):
            began = time.monotonic()
            try:
                count = self.wire.recv_into(view)
            except TimeoutError:
                # a laptop that slept, a process that was stopped: the silence was its own, and says nothing
                if time.monotonic() - began > (self.wire.gettimeout() or 0.0) + WIRE_STOOD_STILL:
                    continue
                raise
            except _NOT_YET:  # a socket that does not block, and a frame that has begun to come
                self._await_more()
                continue
            if count == 0:
                raise ConnectionError(CLOSED)
            view = view[count:]

    def _await_more(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.wire, selectors.EVENT_READ)
            if not selector.select(WIRE_SILENCE):
                raise TimeoutError("the rest of a frame has not come")


def start_beating(channels: Callable[[], Iterable[Any]], over: threading.Event, name: str) -> None:
    """Start a thread called `name` that sends heartbeats on `channels()` until `over` is set, whatever else takes long.

    A heartbeat that can't be sent ends its connection; the thread that uses it finds out.
    """

    def beat():
        while not over.wait(WIRE_HEARTBEAT_EVERY):
            for channel in channels():
                try:
                    channel.beat()
                except (OSError, ValueError):  # half of a frame may be out
                    channel.hang_up()

    threading.Thread(target=beat, daemon=True, name=name).start()


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
