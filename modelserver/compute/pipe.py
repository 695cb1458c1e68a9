"""What a front process and a compute worker say to each other: a header of fixed size, then bytes as they are.

Tensors cross as their raw elements, all inputs (or outputs) one after the other: both sides know the signature. Nothing
is pickled, and nothing of a request but its numbers reaches a worker.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, BinaryIO

_HEADER = struct.Struct("<BIIIQ")  # kind, job, program, rows, bytes that follow


class Kind(IntEnum):
    """What a message says; the last seven come from a worker, or from the reader."""

    LOAD = 1  # this version (JSON: its folder, what to judge it by), as this program
    RUN = 2  # this batch
    UNLOAD = 3  # this program: no batch of it comes any more
    READ = 4  # this request, by these signatures (JSON, so long as `rows` says; then the body)
    STARTED = 5  # the worker can load
    LOADED = 6  # the program can run; JSON: how its answers compare with the recorded ones
    NOT_LOADED = 7  # and why, as text
    ANSWER = 8  # to a batch
    FAILED = 9  # the model raised an error, whose text this is, at a batch
    REQUEST = 10  # that was read (JSON, so long as `rows` says; then its inputs)
    REFUSED = 11  # the request is wrong; JSON: the status, and why


@dataclass(frozen=True)
class Message:
    """One message: its `kind`, the `job` that it belongs to, which `program`, how many `rows`, and its `data`."""

    kind: Kind
    job: int = 0
    program: int = 0
    rows: int = 0
    data: Any = b""


def packed(message: Message, *parts: Any) -> bytes:
    """Return a message's bytes; with `parts`, buffers, these one after the other are its data."""
    parts = parts or (message.data,)
    size = sum(map(len, parts))
    head = _HEADER.pack(message.kind, message.job, message.program, message.rows, size)
    return b"".join((head, *parts))


def read(stream: BinaryIO) -> Message | None:
    """Return the next message of a blocking `stream`, None at its end. The data may be written to."""
    head = stream.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return None
    kind, job, program, rows, size = _HEADER.unpack(head)
    data, got = bytearray(size), 0
    with memoryview(data) as view:
        while got < size:
            count = stream.readinto(view[got:])  # type: ignore[attr-defined]  # a buffered reader has it
            if not count:
                return None
            got += count
    return Message(Kind(kind), job, program, rows, data)


class Parser:
    """Makes messages of bytes that come in pieces: `take(message)` gets each one."""

    def __init__(self, take: Callable[[Message], None]):
        self._take, self._pieces, self._size = take, bytearray(), 0

    def feed(self, piece: bytes) -> None:
        """Go on with the next `piece`."""
        if self._pieces or len(piece) < _HEADER.size:
            self._pieces += piece
            if len(self._pieces) < self._size:
                return
            piece, self._pieces = bytes(self._pieces), bytearray()
        at = 0
        while len(piece) - at >= _HEADER.size:
            kind, job, program, rows, size = _HEADER.unpack_from(piece, at)
            ends = at + _HEADER.size + size
            if ends > len(piece):
                break
            self._take(Message(Kind(kind), job, program, rows, memoryview(piece)[at + _HEADER.size : ends]))
            at = ends
        self._pieces += piece[at:]
        header_is_whole = len(self._pieces) >= _HEADER.size
        self._size = _HEADER.size + (_HEADER.unpack_from(self._pieces)[-1] if header_is_whole else 0)
