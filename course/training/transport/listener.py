"""The door of a shard: a listening socket, TLS, a hello that is checked; strangers cost a thread for some seconds."""

import logging
import secrets
import socket
import threading
import time

import course
from course.training.transport.wire import HELLO_LIMIT, PROTOCOL, SILENCE, Channel

_STRANGERS = 32  # connections that have not said a good hello; more are closed at once
_HELLO = 5.0  # seconds for the handshake and the hello together, however slowly the bytes come
_TICK = 0.2  # seconds: closing a socket does not wake an accept on every system
_LOG = logging.getLogger("course.training")
_THREAD = "parameter-server"  # the name of every thread that `start` starts


class Door:
    """Listens on `host`; whoever says the right hello is handed to `serve(channel, hello)`, in a thread of its own.

    `context`: an `ssl.SSLContext` that knows the cluster's certificates, or None for plain TCP. `objection`: from a
    hello (a dict) to a sentence, or None where it is welcome. `tick` is called a few times a second.
    """

    def __init__(self, serve, objection, tick, token, context=None, host="127.0.0.1"):
        self._serve, self._objection, self._tick = serve, objection, tick
        self._token, self._context = token, context
        self._listener = socket.create_server((host, 0))
        self._listener.settimeout(_TICK)
        self.address = self._listener.getsockname()[:2]
        self.closed = threading.Event()
        self._strangers, self._lock = {}, threading.Lock()  # connection -> when it came
        start(self._accept)

    def close(self):
        """Let nobody in any more. Idempotent."""
        self.closed.set()

    def _accept(self):
        with self._listener:
            while not self.closed.is_set():
                self._sweep()
                self._tick()
                try:
                    connection, _ = self._listener.accept()
                except (TimeoutError, ConnectionAbortedError):
                    continue
                if len(self._strangers) < _STRANGERS:
                    start(self._welcome, connection)
                else:
                    connection.close()

    def _sweep(self):
        """Cut off those who have not said hello in time; their threads then end."""
        late = time.monotonic() - _HELLO
        with self._lock:
            slow = [connection for connection, came in self._strangers.items() if came < late]
        for connection in slow:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it has gone meanwhile

    def _welcome(self, connection):
        connection.settimeout(_HELLO)
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            with connection:
                channel, told = self._hello(connection)
                if told is not None:
                    self._serve(channel, told)
        except (OSError, ValueError) as error:
            # a stranger, or a peer that died: whoever it was has its own error
            _LOG.debug("a connection to a parameter server ended: %s", error)

    def _hello(self, connection):
        """Return (channel, hello), the hello None where it was refused."""
        with self._lock:
            self._strangers[connection] = time.monotonic()
        try:
            if self._context is not None:
                connection.do_handshake()
            channel = Channel(connection, _HELLO)
            hello = channel.receive(HELLO_LIMIT)
            problem = self._problem(hello)
            if problem:
                _LOG.warning("a parameter server refused a connection: %s", problem)
                channel.send("NOPE", payload=problem.encode())
                return channel, None
            connection.settimeout(SILENCE)
            return channel, hello.text()
        finally:
            with self._lock:
                del self._strangers[connection]

    def _problem(self, hello):
        ours = f"this parameter server speaks protocol {PROTOCOL} (course {course.__version__})"
        if hello.kind != "HELO" or hello.number != PROTOCOL:
            return f"{ours}, the other side protocol {hello.number}. Use one version of course on every machine."
        told = hello.text()
        if not isinstance(told, dict):
            return "a hello says its role: session or worker."
        if told.get("course") != course.__version__:
            return f"{ours}, the other side course {told.get('course')}. Use one version of course on every machine."
        if not secrets.compare_digest(str(told.get("token")).encode(), self._token.encode()):
            return "this parameter server serves another training."
        return self._objection(told)


def start(function, *arguments):
    """Run `function` in a thread that does not keep the process alive."""
    threading.Thread(target=function, args=arguments, daemon=True, name=_THREAD).start()


def wait_for_threads(seconds):
    """Return when all threads that `start` started have ended, or after `seconds`."""
    deadline = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name == _THREAD:
            thread.join(max(0.0, deadline - time.monotonic()))
