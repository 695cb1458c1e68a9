"""Memory that a worker and a shard on one host share: a step's tensors lie there, and only headers are sent.

The worker makes the memory as an anonymous file (Linux's memfd), whose size it seals, and offers it when it joins; the
shard opens it through /proc. It has no name in any folder, so nothing is left of it after a kill. Its pages are open to
processes of the same user, as all their memory is; the offer goes over the connection, with its TLS. Headers go over
two pipes that are offered in the same way. Where sharing is not possible (another host or user, another system),
tensors are sent.
"""

import mmap
import os
import secrets
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from course.training.transport.pipes import Pipes, crossed_pipes, open_end

try:
    from fcntl import F_ADD_SEALS, F_GET_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, fcntl

    _CAN_SHARE = True
except ImportError:  # macOS, Windows
    _CAN_SHARE = False

LEAST = 1 << 14  # bytes of tensors; fewer go with their header in one record of TLS
_NAME = "course-training"
_SECRET = 64  # bytes at the start, of which 16 are in the offer: memory that begins with them is the one that was meant


class Halves(NamedTuple):
    """The two parts of a shared memory as one side sees them, for what it sends and what it receives; and its pipes."""

    out: memoryview
    into: memoryview
    pipes: Pipes


@dataclass(frozen=True)
class Offer:
    """What a worker offers a shard: `fields` for JSON, and `halves`, its own view; `close` it after the answer."""

    fields: dict
    halves: Halves
    number: int
    theirs: tuple[int, int]

    def close(self) -> None:
        """Give up the descriptors that the shard opens the memory and its ends of the pipes by."""
        for number in (self.number, *self.theirs):
            os.close(number)


def offer(size: int, connection: socket.socket) -> Offer | None:
    """Return an `Offer` of memory for `size` bytes of tensors each way; None where sharing is of no use or can't be.

    `connection`: the socket to the shard. Both of its ends have one address when they are on one host.
    """
    if not _CAN_SHARE or size < LEAST or connection.getsockname()[0] != connection.getpeername()[0]:
        return None
    with suppress(OSError), ExitStack() as unless_offered:  # no memory left, a sandbox that forbids it: they are sent
        number = os.memfd_create(_NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        unless_offered.callback(os.close, number)
        os.posix_fallocate(number, 0, _SECRET + 2 * size)  # now, not by a signal in the middle of a step
        fcntl(number, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
        memory, secret = mmap.mmap(number, 0), secrets.token_bytes(16)
        memory[: len(secret)] = secret
        out, into = _halves(memory, size)
        ours, theirs = crossed_pipes()
        unless_offered.pop_all()
        fields = {"process": os.getpid(), "number": number, "secret": secret.hex(), "pipes": theirs}
        return Offer(fields, Halves(out, into, Pipes(*ours)), number, theirs)
    return None


def open_offer(fields: dict[str, Any], size: int) -> Halves | None:
    """Return the shard's `Halves` of the memory that a worker offered, `size` bytes each way; None if it can't be had.

    `fields`: of the offer. They come from outside: anything but the sealed memory that it describes is left alone, and
    so are pipes of a process whose memory is another one.
    """
    try:
        folder = f"/proc/{int(fields['process'])}/fd"
        path = f"{folder}/{int(fields['number'])}"
        if not os.readlink(path).startswith(f"/memfd:{_NAME} "):
            return None
        with open(path, "r+b", buffering=0) as file:
            sealed = fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK
            if not sealed or os.fstat(file.fileno()).st_size != _SECRET + 2 * size:
                return None
            memory = mmap.mmap(file.fileno(), 0)
        secret = bytes.fromhex(fields["secret"])
        if len(secret) != 16 or not secrets.compare_digest(memory[:16], secret):
            return None
        pipes = _opened(folder, *map(int, fields["pipes"]))
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return None
    into, out = _halves(memory, size)
    return Halves(out, into, pipes)


def _opened(folder, reads, writes):
    reading = open_end(f"{folder}/{reads}", os.O_RDONLY)
    try:
        return Pipes(reading, open_end(f"{folder}/{writes}", os.O_WRONLY))
    except BaseException:
        os.close(reading)
        raise


def _halves(memory, size):
    view = memoryview(memory)
    return view[_SECRET : _SECRET + size], view[_SECRET + size :]
