"""The listening socket: it takes no more connections than there are files for, and says so once a second at most."""

import contextlib
import errno
import logging
import socket
import time

_log = logging.getLogger(__name__)
#: Connections at most, of those that the system has files for: each may hold 64 kB of a head, and as much of an answer.
CONNECTIONS = 4096
#: Files for all else: what Python, gRPC and a version that is read have open; and each worker's pipes.
_OTHER_FILES, _WORKERS_FILES = 64, 6
#: Between two lines in the log about connections that can't be had, in seconds; asyncio tries again after one.
_LOGGED_EVERY = 0.9
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 72\r\nRetry-After: 1\r\n"
    b'Connection: close\r\n\r\n{"error": "all connections are taken; send it again in a second or so."}'
)


def connections_allowed(workers: int) -> int:
    """Return how many connections this process may have beside so many workers, once it has raised its limit of files.

    The soft limit is raised as far as is of use, and the hard one allows.
    """
    others = _OTHER_FILES + _WORKERS_FILES * workers
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + others
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(CONNECTIONS, soft - others))


class Listening(socket.socket):
    """`opened`, which listens, as a socket that refuses a connection whose file's number is `files` or more.

    A system gives the lowest number that is free, so it says how many are open, those included whose TLS has not begun.
    `tls`: a refusal is not said then, since the caller could not read it.
    """

    def __init__(self, opened: socket.socket, files: int, tls: bool):
        super().__init__(fileno=opened.detach())
        self._files, self._tls, self._logged, self._refused = files, tls, 0.0, 0

    def accept(self) -> tuple[socket.socket, object]:
        """Accept the next connection, or refuse it; raises BlockingIOError then, as where none has come."""
        try:
            connection, address = super().accept()
        except OSError as error:
            # asyncio logs it, waits for a second, and first asks for as many more as may wait: those are not logged
            if error.errno in _NO_ROOM and not self._may_log():
                raise BlockingIOError from None
            raise
        if connection.fileno() < self._files:
            return connection, address
        self._refuse(connection)
        raise BlockingIOError

    def _refuse(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.setblocking(False)
            if not self._tls:
                connection.send(_REFUSAL)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 16)  # what is not read when a socket closes takes what was sent with it
        self._refused += 1
        if self._may_log():
            _log.warning(
                "%d connections were refused: %d files are open, as many as may be", self._refused, self._files
            )
            self._refused = 0

    def _may_log(self):
        if time.monotonic() - self._logged < _LOGGED_EVERY:
            return False
        self._logged = time.monotonic()
        return True
