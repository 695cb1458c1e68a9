"""A request's body: read to its end, no longer than it may be, unpacked no further than that."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from modelserver.protocol.errors import Refused, wrong
from modelserver.versions.version import Version

#: Characters that a number of JSON may take: what the longest double has, a comma, and some blanks.
_CHARACTERS = 40
#: A packed body of so many bytes is unpacked at once, a longer one in a thread: zlib lets the loop go on meanwhile.
_QUICKLY = 1 << 14
#: For the JSON around the numbers.
_AROUND = 1 << 16


Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class CallerGone(Exception):
    """The connection closed before the body was whole; nobody waits for an answer."""


def limit_of(version: Version, largest: int) -> int:
    """Return the bytes that the body of a request for `largest` rows may have, as JSON or binary."""
    elements = max(sum(spec.row_elements for spec in one.inputs) for one in version.signatures.values())
    return _AROUND + largest * elements * _CHARACTERS


class Bodies:
    """Reads the bodies of requests; those not yet whole hold `limit` bytes at most together."""

    def __init__(self, limit: int):
        self._limit, self.bytes = limit, 0

    async def read(self, receive: Receive, headers: dict[bytes, bytes], limit: int) -> bytes | bytearray:
        """Return the body of a request with these `headers`, unpacked if it was packed; at most `limit` bytes.

        Raises Refused (400, 413, 415, 429), or CallerGone. `connection` watches how long a body may take to
        come, and throws away what comes of one that was refused.
        """
        declared = headers.get(b"content-length", b"0")
        if len(declared) > 12 or int(declared) > limit:
            raise _too_large(limit, headers)
        message = await receive()
        body = message.get("body", b"")
        if message.get("more_body"):
            body = await self._rest(receive, headers, limit, bytearray(body))
        elif message["type"] == "http.disconnect":
            raise CallerGone
        if len(body) > limit:
            raise _too_large(limit, headers)
        packing = headers.get(b"content-encoding")
        if packing is None:
            return body
        if len(body) <= _QUICKLY:
            return _unpacked(body, packing.lower(), limit, headers)
        with self.reserved(limit):
            return await asyncio.to_thread(_unpacked, body, packing.lower(), limit, headers)

    @contextmanager
    def reserved(self, size: int) -> Iterator[None]:
        """Within the `with`, count `size` bytes, or all there are: what a body has or may have. Raises Refused, 429."""
        size = min(size, self._limit)
        self._check_room(size)
        self.bytes += size
        try:
            yield
        finally:
            self.bytes -= size

    def _check_room(self, size=0):
        if self.bytes + size > self._limit:
            raise Refused(
                429,
                f"requests of {self._limit} bytes in all are on their way in already. Send it again in a "
                "second, faster, or in smaller parts.",
                {"Retry-After": "1"},
            )

    async def _rest(self, receive, headers, limit, body):
        """Return `body` with all that follows."""
        held = 0
        try:
            while True:
                self.bytes += len(body) - held
                held = len(body)
                if held > limit:
                    raise _too_large(limit, headers)
                self._check_room()
                message = await receive()
                body += message.get("body", b"")
                if message["type"] == "http.disconnect":
                    raise CallerGone
                if not message.get("more_body"):
                    return body
        finally:
            self.bytes -= held


def _unpacked(body, packing, limit, headers):
    if packing == b"identity":
        return body
    if packing not in (b"gzip", b"deflate"):
        raise Refused(415, f"header Content-Encoding: {packing.decode('latin-1')!r:.40}; give gzip, deflate or none.")
    unpacker = zlib.decompressobj(wbits=31 if packing == b"gzip" else 15)
    try:
        unpacked = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise wrong(f"the body is no {packing.decode()} data: {error}.") from None
    if len(unpacked) > limit:
        raise _too_large(limit, headers)
    if not unpacker.eof or unpacker.unused_data:
        raise wrong(
            f"the body is not one whole {packing.decode()} stream: it ends too early, or goes on after its end."
        )
    return unpacked


def _too_large(limit, headers):
    # whoever waits for "100 Continue" may send the body or not; all others send it to its end, and then read this
    close = {"Connection": "close"} if b"expect" in headers else {}
    return Refused(
        413,
        f"the body is larger than {limit} bytes, unpacked, which is what this model's largest request can take. "
        "Send fewer rows at a time.",
        close,
    )
