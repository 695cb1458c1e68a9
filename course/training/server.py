"""The parameter server's process: a listening socket, a thread a connection, and an end when its session ends."""

import secrets
import socket
import threading

import numpy

from course.training.exchange import PATIENCE, Exchange
from course.training.result import RECORD
from course.training.rules import make_rule
from course.training.store import ParameterServer
from course.training.wire import PROTOCOL, Channel, Layout


class Server:
    """Serves one training. It closes when the session that asked for it closes or falls silent.

    `context`: an `ssl.SSLContext` that knows the cluster's certificates, or None for plain TCP. `token` is a secret
    that workers and session must name, so that nobody reaches another training's store by mistake.
    """

    def __init__(self, exchange, layout, context=None, host="127.0.0.1"):
        self._exchange, self._layout, self._context = exchange, layout, context
        self.token = secrets.token_hex(8)
        self._listener = socket.create_server((host, 0))
        self._listener.settimeout(0.2)  # closing a socket does not wake an accept on every system
        self.address = self._listener.getsockname()[:2]
        self._closed = threading.Event()
        self._channels, self._lock = set(), threading.Lock()
        self._silence = threading.Timer(PATIENCE, self.close)  # until a session comes
        self._silence.daemon = True
        self._silence.start()
        self._start(self._accept)

    def close(self):
        """End the training and close every connection; worker loops then end by themselves. Idempotent."""
        self._closed.set()
        self._silence.cancel()
        self._exchange.end("closed")
        with self._lock:
            channels = list(self._channels)
        for channel in channels:
            channel.close()

    def _start(self, function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True, name="parameter-server").start()

    def _accept(self):
        with self._listener:
            while not self._closed.is_set():
                try:
                    connection, _ = self._listener.accept()
                except TimeoutError:
                    continue
                self._start(self._serve, connection)

    def _serve(self, connection):
        with connection:
            try:
                connection.settimeout(PATIENCE)
                if self._context is not None:
                    connection = self._context.wrap_socket(connection, server_side=True)
                channel = Channel(connection, PATIENCE)
                self._greet(channel)
            except (OSError, ValueError):
                return  # a stranger, or a peer that died: whoever it was has its own error

    def _greet(self, channel):
        hello = channel.receive()
        told = hello.text()
        problem = self._objection(hello, told)
        if problem:
            channel.send("NOPE", payload=problem.encode())
            return
        channel.agree(self._layout)
        with self._lock:
            self._channels.add(channel)
        try:
            if self._closed.is_set():
                return
            self._serve_session(channel) if told["role"] == "session" else self._serve_worker(
                channel, told.get("worker")
            )
        finally:
            channel.close()
            with self._lock:
                self._channels.discard(channel)

    def _objection(self, hello, told):
        if hello.kind != "HELO" or hello.number != PROTOCOL:
            return f"this parameter server speaks protocol {PROTOCOL}, not {hello.number}. Use one version of course."
        if not isinstance(told, dict) or told.get("role") not in ("session", "worker"):
            return "a hello says its role: session or worker."
        if not secrets.compare_digest(str(told.get("token")).encode(), self.token.encode()):
            return "this parameter server serves another training."
        theirs = told.get("layout")
        if theirs is not None and Layout.from_json(theirs) != self._layout:
            return f"the worker's parameters are {theirs}; the store's are {self._layout.as_json()}."
        return None

    def _serve_worker(self, channel, worker):
        try:
            self._exchange.join(worker)
        except ValueError as error:
            channel.send("NOPE", payload=str(error).encode())
            return
        reason = "stopped"
        try:
            channel.send("OKAY", payload={})
            reason = self._exchange_with(channel, worker)
        except OSError as error:
            reason = f"connection lost: {error}"
        finally:
            self._exchange.leave(worker, reason)

    def _exchange_with(self, channel, worker):
        version = self._exchange.first_pull(channel.sending)
        while version is not None:
            channel.send_tensors("PARM", version)
            frame = channel.receive()
            if frame.kind != "PUSH":
                reason = frame.payload.decode(errors="replace")
                self._exchange.end("error", f"worker {worker}: {reason}")
                return reason
            version = self._exchange.push_pull(worker, frame.number, frame.value, channel.received, channel.sending)
        channel.send("STOP")
        return "stopped"

    def _serve_session(self, channel):
        self._silence.cancel()
        try:
            channel.send("OKAY", payload={})
            while True:
                frame = channel.receive()
                if frame.kind == "LOOK":
                    status, records = self._exchange.look(frame.number)
                    channel.send("STAT", payload=status)
                    channel.send("ROWS", payload=numpy.array(records, dtype=RECORD).tobytes())
                elif frame.kind == "PULL":
                    channel.send_tensors("PARM", self._exchange.pull(channel.sending))
                elif frame.kind == "STOP":
                    self._exchange.end("stopped")
        finally:
            self.close()


def open_server(parameters, optimizer, mode, workers, limit, max_staleness, aggregate, context=None, host="127.0.0.1"):
    """Start a `Server` for these parameters in this process; return it."""
    store = ParameterServer(parameters, optimizer)
    rule = make_rule(mode, store, workers, max_staleness, aggregate)
    return Server(Exchange(store, rule, limit, workers), Layout.of(parameters), context, host)
