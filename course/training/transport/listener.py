"""A shard's listening socket: TLS, a handshake that is checked, and a thread for each connection that passes it."""

import errno
import logging
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import course
from course.training.transport.wire import HANDSHAKE_LIMIT, PROTOCOL, WIRE_SILENCE, Channel

#: For TLS and the handshake of a connection to a shard together, however slowly the bytes come.
SHARD_HANDSHAKE = 5.0
#: Between two looks of a shard's listener whether it is closed, or a driver is overdue; its pause where the system has
#: no file or thread for another connection.
LISTENER_LOOKS_EVERY = 0.2

_MOST_UNAUTHENTICATED = 32  # connections without a good handshake yet; more are closed at once
_NO_MORE = "It tries again; connections that are open stay. `ulimit -n` and `ulimit -u` say how many there may be."
_LOG = logging.getLogger(__name__)
_THREAD = "parameter-server"  # the name of every thread that `start_thread` starts


class Listener:
    """Listens on `host`, at the first of `ports` that is free (0: any), until `closed` is set; open connections stay.

    Each connection with a right handshake goes to `serve(channel, fields)`, in a thread of its own. `token`: the secret
    that a handshake must name. `refusal`: from a handshake's fields (a dict) to a sentence, or None where it is
    accepted. `tick` is called a few times a second. `context`: an `ssl.SSLContext` that knows the cluster's
    certificates, or None for plain TCP. Where the system has no file or thread for another connection, the listener
    says so, pauses and tries again.
    """

    def __init__(
        self,
        serve: Callable[[Channel, dict[str, Any]], None],
        refusal: Callable[[dict[str, Any]], str | None],
        tick: Callable[[], None],
        closed: threading.Event,
        token: str,
        context: ssl.SSLContext | None,
        host: str,
        ports: Sequence[int],
    ):
        self._serve, self._refusal, self._tick = serve, refusal, tick
        self._closed, self._token, self._context = closed, token, context
        self._socket = _first_free(host, ports)
        self._socket.settimeout(LISTENER_LOOKS_EVERY)  # closing a socket does not wake an accept on every system
        self.address = self._socket.getsockname()[:2]
        self._unauthenticated: dict[socket.socket, float] = {}  # connection -> when it came
        self._lock = threading.Lock()
        start_thread(self._accept)

    def _accept(self):
        failing = False
        with self._socket:
            while not self._closed.is_set():
                self._end_late_handshakes()
                self._tick()
                try:
                    self._take(self._socket.accept()[0])
                except (TimeoutError, ConnectionAbortedError):
                    continue
                except (OSError, RuntimeError) as error:  # no file, memory or thread is left: some may be freed
                    if not failing:
                        _LOG.warning("a parameter server can't take a connection: %s. %s", error, _NO_MORE)
                    failing = True
                    self._closed.wait(LISTENER_LOOKS_EVERY)
                    continue
                if failing:
                    _LOG.warning("a parameter server takes connections again")
                failing = False

    def _take(self, connection):
        """Serve the connection in a thread; close it where there are too many, or no thread (RuntimeError, then)."""
        with ExitStack() as unless_served:
            unless_served.callback(connection.close)
            if len(self._unauthenticated) < _MOST_UNAUTHENTICATED:
                start_thread(self._serve_connection, connection)
                unless_served.pop_all()

    def _end_late_handshakes(self):
        """Cut off connections without a handshake in time; their threads then end."""
        late = time.monotonic() - SHARD_HANDSHAKE
        with self._lock:
            slow = [connection for connection, came in self._unauthenticated.items() if came < late]
        for connection in slow:
            with suppress(OSError):  # it has gone meanwhile
                connection.shutdown(socket.SHUT_RDWR)

    def _serve_connection(self, connection):
        connection.settimeout(SHARD_HANDSHAKE)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            with connection:
                channel, fields = self._handshake(connection)
                if fields is not None:
                    self._serve(channel, fields)
        except (OSError, ValueError) as error:
            # someone else's program, or a peer that died: at its own end there is an error too
            _LOG.debug("a connection to a parameter server ended: %s", error)

    def _handshake(self, connection):
        """Return (channel, the handshake's fields), the fields None where it was refused."""
        with self._lock:
            self._unauthenticated[connection] = time.monotonic()
        try:
            if self._context is not None:
                connection.do_handshake()
            channel = Channel(connection, SHARD_HANDSHAKE)
            frame = channel.receive(HANDSHAKE_LIMIT)
            problem = self._problem(frame)
            if problem:
                _LOG.warning("a parameter server refused a connection: %s", problem)
                channel.send("NOPE", payload=problem.encode())
                return channel, None
            connection.settimeout(WIRE_SILENCE)
            return channel, frame.text()
        finally:
            with self._lock:
                del self._unauthenticated[connection]

    def _problem(self, frame):
        here = f"this parameter server speaks protocol {PROTOCOL} (course {course.__version__})"
        if frame.kind != "HELO" or frame.number != PROTOCOL:
            return f"{here}, the other side protocol {frame.number}. Use one version of course on every machine."
        try:
            fields = frame.text()
        except ValueError as error:
            return f"a handshake is an object of JSON: {error}."
        if not isinstance(fields, dict):
            return "a handshake says its role: driver or worker."
        if fields.get("course") != course.__version__:
            return f"{here}, the other side course {fields.get('course')}. Use one version of course on every machine."
        if not secrets.compare_digest(str(fields.get("token")).encode(), self._token.encode()):
            return "this parameter server serves another training."
        return self._refusal(fields)


def _first_free(host, ports):
    """Return a socket that listens at the first free one of `ports`; OSError, with what to do, where none is."""
    for port in ports:
        try:
            return socket.create_server((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    raise OSError(f"all ports from {ports[0]} to {ports[-1]} of {host} are taken; have a wider range opened, ports=…")


def start_thread(function: Callable[..., None], *arguments: Any) -> None:
    """Run `function` in a thread that does not keep the process alive."""
    threading.Thread(target=function, args=arguments, daemon=True, name=_THREAD).start()


def wait_for_threads(seconds: float) -> None:
    """Return when all threads that `start_thread` started have ended, or after `seconds`."""
    deadline = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name == _THREAD:
            thread.join(max(0.0, deadline - time.monotonic()))
