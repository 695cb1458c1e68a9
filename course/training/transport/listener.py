"""The door of a shard: a listening socket, TLS, a hello that is checked; strangers cost a thread for some seconds."""

import logging
import secrets
import socket
import threading
import time

import course
from course.training.transport.wire import HANDSHAKE_LIMIT, PROTOCOL, SILENCE, Channel

_MOST_UNAUTHENTICATED = 32  # connections that have not said a good hello; more are closed at once
_HANDSHAKE = 5.0  # seconds for the handshake and the hello together, however slowly the bytes come
_TICK = 0.2  # seconds: closing a socket does not wake an accept on every system
_LOG = logging.getLogger("course.training")
_THREAD = "parameter-server"  # the name of every thread that `start` starts


class Listener:
    """Listens on `host`; whoever says the right hello is handed to `serve(channel, handshake)`, in a thread of its own.

    `context`: an `ssl.SSLContext` that knows the cluster's certificates, or None for plain TCP. `refusal`: from a
    hello (a dict) to a sentence, or None where it is welcome. `tick` is called a few times a second.
    """

    def __init__(self, serve, refusal, tick, token, context=None, host="127.0.0.1"):
        self._serve, self._refusal, self._tick = serve, refusal, tick
        self._token, self._context = token, context
        self._socket = socket.create_server((host, 0))
        self._socket.settimeout(_TICK)
        self.address = self._socket.getsockname()[:2]
        self.closed = threading.Event()
        self._unauthenticated, self._lock = {}, threading.Lock()  # connection -> when it came
        start(self._accept)

    def close(self):
        """Let nobody in any more. Idempotent."""
        self.closed.set()

    def _accept(self):
        with self._socket:
            while not self.closed.is_set():
                self._sweep()
                self._tick()
                try:
                    connection, _ = self._socket.accept()
                except (TimeoutError, ConnectionAbortedError):
                    continue
                if len(self._unauthenticated) < _MOST_UNAUTHENTICATED:
                    start(self._serve_connection, connection)
                else:
                    connection.close()

    def _sweep(self):
        """Cut off those who have not said hello in time; their threads then end."""
        late = time.monotonic() - _HANDSHAKE
        with self._lock:
            slow = [connection for connection, came in self._unauthenticated.items() if came < late]
        for connection in slow:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it has gone meanwhile

    def _serve_connection(self, connection):
        connection.settimeout(_HANDSHAKE)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            with connection:
                channel, told = self._handshake(connection)
                if told is not None:
                    self._serve(channel, told)
        except (OSError, ValueError) as error:
            # a stranger, or a peer that died: whoever it was has its own error
            _LOG.debug("a connection to a parameter server ended: %s", error)

    def _handshake(self, connection):
        """Return (channel, hello), the hello None where it was refused."""
        with self._lock:
            self._unauthenticated[connection] = time.monotonic()
        try:
            if self._context is not None:
                connection.do_handshake()
            channel = Channel(connection, _HANDSHAKE)
            handshake = channel.receive(HANDSHAKE_LIMIT)
            problem = self._problem(handshake)
            if problem:
                _LOG.warning("a parameter server refused a connection: %s", problem)
                channel.send("NOPE", payload=problem.encode())
                return channel, None
            connection.settimeout(SILENCE)
            return channel, handshake.text()
        finally:
            with self._lock:
                del self._unauthenticated[connection]

    def _problem(self, handshake):
        ours = f"this parameter server speaks protocol {PROTOCOL} (course {course.__version__})"
        if handshake.kind != "HELO" or handshake.number != PROTOCOL:
            return f"{ours}, the other side protocol {handshake.number}. Use one version of course on every machine."
        told = handshake.text()
        if not isinstance(told, dict):
            return "a hello says its role: session or worker."
        if told.get("course") != course.__version__:
            return f"{ours}, the other side course {told.get('course')}. Use one version of course on every machine."
        if not secrets.compare_digest(str(told.get("token")).encode(), self._token.encode()):
            return "this parameter server serves another training."
        return self._refusal(told)


def start(function, *arguments):
    """Run `function` in a thread that does not keep the process alive."""
    threading.Thread(target=function, args=arguments, daemon=True, name=_THREAD).start()


def wait_for_threads(seconds):
    """Return when all threads that `start` started have ended, or after `seconds`."""
    deadline = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name == _THREAD:
            thread.join(max(0.0, deadline - time.monotonic()))
