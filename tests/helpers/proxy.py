"""A TCP proxy in user space that can do to a connection what networks do: stall, delay, cut, reset, partition."""

import contextlib
import socket
import struct
import threading
import time

_LOOK = 0.05  # seconds between two looks at what is to be done
ALL = "all"
_RESET = struct.pack("ii", 1, 0)  # linger for 0 s: a close then sends RST instead of FIN


class Proxy:
    """Forwards every connection to `target` (host, port) until told otherwise; `address` is where it listens.

    `with Proxy(target) as proxy: …`; every method may be called from any thread, at any time.
    """

    def __init__(self, target):
        self.target = tuple(target)
        self._lock, self._pairs, self._threads = threading.Lock(), [], []
        self._stalled, self._ended = set(), threading.Event()  # stalled pairs; ALL stands for every one, new ones too
        self._delay, self._left = 0.0, None
        self._cut = set()  # pairs over which nothing more goes, either way

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_LOOK)
        self.address = self._listener.getsockname()[:2]
        self._run(self._accept)
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._close_all()
        for thread in list(self._threads):
            thread.join(60)
        self._listener.close()

    def stall(self, which=None):
        """Stop forwarding, both ways, as a partition does: connections stay open and nothing is said.

        `which`: only the connection of that number (modulo how many there are now); None: all, and new ones too.
        """
        with self._lock:
            self._stalled.add(ALL if which is None or not self._pairs else self._pairs[which % len(self._pairs)])

    def flow(self):
        """Forward again, at once and all of it, also what came in meanwhile."""
        with self._lock:
            self._delay, self._left = 0.0, None
            self._stalled.clear()

    def delay(self, seconds):
        """Hold every piece back for so many seconds."""
        self._delay = seconds

    def cut_after(self, count):
        """Forward `count` more bytes, over all connections, then close the connection they were on: in mid-message."""
        with self._lock:
            self._left = count

    def reset(self):
        """Reset (RST) every connection that is open now; new ones are forwarded."""
        self._close_all(reset=True)

    @property
    def connections(self):
        """How many connections are open now."""
        with self._lock:
            return len(self._pairs)

    def _run(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, name="proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # no more files, for now
                self._ended.wait(_LOOK)
                continue
            try:
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                near.close()
                continue
            pair = (near, far)
            for one in pair:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                one.settimeout(_LOOK)
            with self._lock:
                self._pairs.append(pair)
            self._run(self._pump, near, far, pair)
            self._run(self._pump, far, near, pair)

    def _pump(self, source, sink, pair):
        try:
            while not self._ended.is_set():
                if self._wait_while_stalled(pair):
                    continue
                try:
                    data = source.recv(1 << 16)
                except TimeoutError:
                    continue
                while self._wait_while_stalled(pair):  # it may have begun while we waited for these
                    pass
                time.sleep(self._delay)
                data, cut = self._allowed(data, pair)
                _send_all(sink, data, self._ended)
                if cut or not data:
                    return
        except OSError:
            return  # one side has closed; both are closed below
        finally:
            self._close(pair)

    def _wait_while_stalled(self, pair):
        if self._ended.is_set() or not (ALL in self._stalled or pair in self._stalled):
            return False
        time.sleep(_LOOK / 5)
        return True

    def _allowed(self, data, pair):
        with self._lock:
            if pair in self._cut:
                return b"", True
            if self._left is None or len(data) < self._left:
                self._left = None if self._left is None else self._left - len(data)
                return data, False
            kept, self._left = data[: self._left], None
            self._cut.add(pair)
            return kept, True

    def _close(self, pair, reset=False):
        with self._lock:
            if pair not in self._pairs:
                return
            self._pairs.remove(pair)
        for one in pair:
            with contextlib.suppress(OSError):  # the peer was quicker
                if reset:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                else:
                    one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _close_all(self, reset=False):
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._close(pair, reset)


def _send_all(sink, data, ended):
    view = memoryview(data)
    while len(view) and not ended.is_set():
        try:
            view = view[sink.send(view) :]
        except TimeoutError:
            continue
