"""Two pipes between two processes of one host: the headers of tensors that lie in shared memory go over them.

A frame of 32 bytes costs a fraction of what it costs over TLS on a socket. A pipe has no name in any folder: its other
end is opened through /proc, as the memory is, by a process of the same user alone.
"""

import io
import os
import select
import socket
import stat
from contextlib import ExitStack, suppress

CLOSED = "the other side closed the connection."
_ROOM = 1 << 17  # bytes: more than the heartbeats that are sent to who reads nothing (`wire.UNREAD`)


class Pipes:
    """One side's two ends of pipes, with those methods of a socket that frames need; call `watch` first.

    `reads`, `writes`: descriptors, which are closed with this. Up to 4 KiB are written whole or not yet (POSIX).
    """

    def __init__(self, reads: int, writes: int):
        self._reads, self._writes = io.FileIO(reads, "rb"), io.FileIO(writes, "wb")
        for number in (reads, writes):
            os.set_blocking(number, False)
        self._timeout: float | None = None
        self._hung_up = False

    def watch(self, connection: socket.socket) -> None:
        """Count as over when this connection ends: by that, a thread that waits for a pipe can be woken."""
        self._timeout = connection.gettimeout()
        self._arrivals, self._room = select.poll(), select.poll()
        self._arrivals.register(self._reads, select.POLLIN)  # first here, first in what `poll` returns
        self._room.register(self._writes, select.POLLOUT)
        for waiting in (self._arrivals, self._room):
            waiting.register(connection, select.POLLIN)

    def fileno(self) -> int:
        """Return the descriptor that has something to read when a frame has come."""
        return self._reads.fileno()

    def gettimeout(self) -> float | None:
        """Return how many seconds a wait may last; 0: none waits; None: any time."""
        return self._timeout

    def settimeout(self, seconds: float | None) -> None:
        """Let a wait last so many seconds."""
        self._timeout = seconds

    def recv_into(self, view: memoryview | bytearray) -> int:
        """Read up to `view`'s bytes into it; return how many, 0 at the end. Raises as a socket's does."""
        count = None
        if self._timeout == 0.0:
            count = self._reads.readinto(view)
        if count is None:
            self._wait(self._arrivals, self._reads)
            count = self._reads.readinto(view)
        return count or 0

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data`. Raises OSError where the other side is gone, or reads nothing for too long."""
        if self._hung_up:
            raise ConnectionError(CLOSED)
        done = self._writes.write(data) or 0
        while done < len(data):
            self._wait(self._room, self._writes)
            done += self._writes.write(memoryview(data)[done:]) or 0

    def hang_up(self) -> None:
        """Let nothing more be written or waited for; the end of the watched connection wakes who waits."""
        self._hung_up = True

    def close(self) -> None:
        """Close both ends. Idempotent."""
        self._reads.close()
        self._writes.close()

    def _wait(self, waiting, end):
        """Wait until this end is ready; ConnectionError where the connection has ended and it is not."""
        ready = waiting.poll(None if self._timeout is None else 1000 * self._timeout)
        if self._hung_up or (ready and ready[0][0] != end.fileno()):
            raise ConnectionError(CLOSED)
        if not ready:
            raise BlockingIOError if self._timeout == 0.0 else TimeoutError("timed out")

    def __del__(self):
        with suppress(AttributeError):  # a descriptor was none
            self.close()  # offered in vain


def crossed_pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    """Return (our ends, the other side's ends) of two new pipes, each as descriptors (to read, to write).

    Raises OSError where the system gives none, or small ones.
    """
    from fcntl import F_SETPIPE_SZ, fcntl

    with ExitStack() as unless_whole:
        pipes = []
        for _ in range(2):
            pipes.append(os.pipe())
            for end in pipes[-1]:
                unless_whole.callback(os.close, end)
            fcntl(pipes[-1][1], F_SETPIPE_SZ, _ROOM)
        unless_whole.pop_all()
    (reads, they_write), (they_read, writes) = pipes
    return (reads, writes), (they_read, they_write)


def open_end(path: str, mode: int) -> int:
    """Return a descriptor of the nameless pipe behind this path of /proc, to read or to write; OSError for others."""
    if not os.readlink(path).startswith("pipe:"):
        raise OSError(f"{path} is no pipe.")
    number = os.open(path, mode | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISFIFO(os.fstat(number).st_mode):  # another one has its number since
        os.close(number)
        raise OSError(f"{path} is no pipe.")
    return number
