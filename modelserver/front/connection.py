"""One connection: uvicorn's HTTP on httptools, with limits on how long and how large the head of a request is.

httptools, the parser of Node.js, takes 0.03 ms of a core for a request of 3 kB where h11, which is Python, takes 0.11;
it knows no limits of its own, so they stand here.
"""

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from modelserver.deadlines import CONNECTIONS_LOOKED_AT_EVERY, REQUEST_COMES

_log = logging.getLogger(__name__)
#: Bytes of an address and all headers together; of the trailers after a body too.
_HEAD = 1 << 16
#: Bytes that each header counts beside its own: what it takes in memory, and as much as in HTTP/2 (RFC 9113, 6.5.2).
_A_HEADER = 32
#: Bytes that are parsed at a time, so that a head is known to be too large before much more of it has come.
_PIECE = 1 << 14
#: An answer of which fewer bytes wait to be read is not counted.
_UNREAD = 1 << 16
#: Requests that a caller may send ahead, before the answers to those before them have gone out.
_AHEAD = 32
#: ASGI's place for what a server offers beyond the standard, `scope["extensions"]`, has a function by this name. The
#: future that it gets is cancelled when the caller goes away, so that nobody computes the answer; None: none any more.
CANCEL_WITH_CALLER = "modelserver.cancel_with_caller"
#: And one by this name, to await before another answer is computed: until the caller has read the one before.
ANSWER_IS_READ = "modelserver.answer_is_read"
_TOO_LARGE = (
    f"the address and headers, each counted {_A_HEADER} bytes longer, are larger than {_HEAD} bytes; leave some out."
)


@dataclass
class _Answer:
    size: Callable[[], int]
    give_up: Callable[[], object]
    counted: int = 0


class Unread:
    """Answers that were written and are not read yet: `limit` bytes together, or one answer that is larger."""

    def __init__(self, limit: int):
        self._limit, self._counted = limit, 0
        self._waiting: dict[Hashable, _Answer] = {}

    def add(self, reader: Hashable, size: Callable[[], int], give_up: Callable[[], object]) -> None:
        """Count the answer to `reader`, of which `size()` bytes wait; `give_up()` is called if it has to go."""
        self._count(self._waiting.setdefault(reader, _Answer(size, give_up)))
        if self._counted <= self._limit:
            return
        for answer in self._waiting.values():
            self._count(answer)  # some of it may have been read meanwhile
        for waiting in list(self._waiting)[:-1]:
            if self._counted <= self._limit:
                return
            answer = self._waiting[waiting]
            if answer.counted:
                text = "an answer is given up with %d bytes that are not read: all together are %d"
                _log.warning(text, answer.counted, self._counted)
                answer.give_up()
            self.remove(waiting)

    def remove(self, reader: Hashable) -> None:
        """Forget the answer to `reader`, which was read or given up."""
        if (answer := self._waiting.pop(reader, None)) is not None:
            self._counted -= answer.counted

    def _count(self, answer):
        size = answer.size()
        self._counted += size - answer.counted
        answer.counted = size


class _Together:
    """A transport for one answer that sends its head with its body: one packet, and one waking of the caller."""

    __slots__ = ("_transport", "_head", "_written", "is_closing")

    def __init__(self, transport: asyncio.Transport, written: Callable[[], None]):
        self._transport, self._head, self.is_closing = transport, b"", transport.is_closing
        self._written = written

    def write(self, data: bytes) -> None:
        """Hold a head back, or send what is held with `data`."""
        if self._head or data.startswith(b"HTTP/1.1 100"):
            data, self._head = self._head + data, b""
            self._transport.write(data)
            self._written()
        else:
            self._head = data

    def close(self) -> None:
        """Close; a head whose body never came is not sent."""
        self._transport.close()


class Connection(HttpToolsProtocol):
    """What uvicorn makes for each connection; `close_late` watches over all of them."""

    _answer: asyncio.Future | None = None
    _since: float | None = None
    _stuck: float | None = None
    _head, _unparsed, _in_body = 0, 0, False  # bytes of this head, bytes since the parser last gave anything
    _wire: Any = None

    def __init__(self, *arguments: Any, unread: Unread, **more: Any):
        super().__init__(*arguments, **more)
        self._unread = unread

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request (asyncio's name)."""
        super().connection_made(transport)
        # asyncio does so for sockets of its own making; without it the second packet of an answer waits 40 ms
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # TLS' transport tells what isn't encrypted yet; what is waits in the one below, which has no public name
        self._wire = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
        self._since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Parse what has come, and end a request whose head, trailers or chunk sizes don't (asyncio's name).

        httptools tells of a header once it is whole, and holds what has come of it until then.
        """
        for at in range(0, len(data), _PIECE):
            piece = data[at : at + _PIECE]
            self._unparsed += len(piece)
            super().data_received(piece)
            if self.transport.is_closing():
                return
            if self._head + self._unparsed > _HEAD:
                return self._end(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request (httptools' name)."""
        super().on_message_begin()
        self._since, self._head, self._unparsed, self._in_body = self.loop.time(), 0, 0, False
        offered: dict = {CANCEL_WITH_CALLER: self._cancel_with_caller, ANSWER_IS_READ: self.flow.drain}
        self.scope["extensions"] = offered

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address (httptools' name)."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer, which could pretend to be one, is only counted (httptools' name)."""
        self._count(len(name) + len(value) + _A_HEADER)
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer (httptools' name)."""
        super().on_headers_complete()
        if self.scope["method"] != "HEAD":  # whose answer has no body
            together = _Together(self.transport, self._written)  # all of a transport that an answer uses
            self.cycle.transport = together  # type: ignore[assignment]
        self._head, self._unparsed, self._in_body = 0, 0, True
        if len(self.pipeline) > _AHEAD:  # uvicorn holds them all: a caller that reads no answer could fill the memory
            self._end(400, "")

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body (httptools' name)."""
        self._unparsed = 0
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of what nobody waits for any more (asyncio's name)."""
        super().connection_lost(exc)
        self._unread.remove(self)
        if self._answer is not None:
            self._answer.cancel()

    def resume_writing(self) -> None:
        """Most of the answer is read (asyncio's name)."""
        super().resume_writing()
        self._unread.remove(self)

    def on_message_complete(self) -> None:
        """The request is whole (httptools' name)."""
        self._since, self._unparsed, self._in_body = None, 0, False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP in the protocol's form, and close (uvicorn's name)."""
        if self._head > _HEAD:
            self._end(431, _TOO_LARGE)
        else:
            self._end(400, "this is no HTTP/1.1 request.")

    def late(self, loop_time: float) -> bool:
        """Close the connection if its request is not whole after `REQUEST_COMES`, or its answer is not read."""
        if self._since is not None and loop_time - self._since > REQUEST_COMES:
            self._end(408, f"the request was not whole after {REQUEST_COMES:g} s; send it faster, or in smaller parts.")
            return True
        waits = self._unread_bytes() > 0
        self._stuck = None if not waits else self._stuck or loop_time
        if self._stuck is not None and loop_time - self._stuck > REQUEST_COMES:
            self.transport.abort()
            return True
        return False

    def _cancel_with_caller(self, answer: asyncio.Future | None) -> None:
        self._answer = answer

    def _unread_bytes(self) -> int:
        size = self.transport.get_write_buffer_size()
        return size if self._wire is None else size + self._wire.get_write_buffer_size()

    def _written(self):
        if self._unread_bytes() > _UNREAD:
            self._unread.add(self, self._unread_bytes, self.transport.abort)

    def _count(self, size):
        self._head += size
        self._unparsed = 0
        if self._head > _HEAD:
            raise ValueError("the head is too large")  # httptools makes it an HttpParserError

    def _end(self, status, text):
        body = json.dumps({"error": text}).encode()
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
        if self._has_place() and not self.transport.is_closing():
            self.transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        self._since = None
        self.transport.close() if self.cycle is None or not self.pipeline else self.transport.abort()

    def _has_place(self):
        """Whether what is written next is read as the answer to what has come last: no other answer is under way."""
        if self.cycle is None:
            return True
        free = not self.cycle.response_started if self._in_body else self.cycle.response_complete
        return free and not self.pipeline


async def close_late(connections: Iterable[Any]) -> None:
    """Look at `connections`, uvicorn's set, for ever, and close those whose callers are too slow."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(CONNECTIONS_LOOKED_AT_EVERY)
        for connection in list(connections):
            connection.late(loop.time())
