"""One shard's process: it listens for a driver, workers and the other shards, and ends when its driver ends."""

import atexit
import logging
import ssl
import threading
import weakref
from contextlib import suppress

import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.problems.problem import MakeOptimizer
from course.training.records import Route, TrainingSettings
from course.training.server.coordinator import Coordinator
from course.training.server.driver_service import DriverService
from course.training.server.follower import Follower
from course.training.server.shard_links import ShardLinks, serve_log, serve_reports
from course.training.server.store import ParameterServer
from course.training.server.worker_service import WorkerService
from course.training.transport.layout import Layout
from course.training.transport.listener import Listener, start_thread, wait_for_threads
from course.training.transport.wire import WIRE_HEARTBEAT_EVERY, Channel

#: For a process that ends to finish the optimiser's steps it is in.
STEPS_END_AT_EXIT = 3.0

#: `ssl.SSLContext`s to listen and to call with, or Nones for plain TCP.
Contexts = tuple[ssl.SSLContext | None, ssl.SSLContext | None]
_LOG = logging.getLogger(__name__)
_OPEN: weakref.WeakSet["ShardServer"] = weakref.WeakSet()


class ShardServer:
    """Serves shard number `shard` of `shards`, with these parameters, in this process.

    It closes when the driver that asked for it closes or falls silent. `token`: a secret that every handshake must
    name, so that no worker reaches another training's store. `start`: a `Snapshot` of the parameters to go on from.
    `route`: its way to the other shards. Raises ValueError for an optimiser that a parameter server can't keep, or a
    snapshot of other parameters.
    """

    def __init__(
        self,
        parameters: dict[str, torch.Tensor],
        optimizer: MakeOptimizer,
        settings: TrainingSettings,
        *,
        token: str,
        shard: int,
        shards: int,
        incarnation: int,
        start: Snapshot | None = None,
        contexts: Contexts = (None, None),
        host: str = "127.0.0.1",
        ports: tuple[int, ...] = (0,),
        route: Route | None = None,
    ):
        store = ParameterServer(parameters, optimizer, state=start)
        if shard == 0:
            self.shard: Coordinator | Follower = Coordinator(store, settings, incarnation, start, others=shards - 1)
        else:
            self.shard = Follower(store, settings, incarnation)
        listen, call = contexts
        self._channels, self._lock, self._closed = set[Channel](), threading.Lock(), threading.Event()
        handshake = {"token": token, "incarnation": incarnation}
        self._links = ShardLinks(self.shard, handshake, call, route, self._closed)
        self.workers = WorkerService(self.shard, Layout.of(parameters))
        self.driver = DriverService(self.shard, self._links.connect, self.close)
        _OPEN.add(self)
        tick = self.driver.close_if_forsaken
        self._listener = Listener(self._serve, self._refusal, tick, token, listen, host, ports, self._closed)
        self.address = self._listener.address
        self.workers.start()
        start_thread(self._beat)
        begins = shard, shards, incarnation, store.version
        _LOG.info("shard %d of %d: incarnation %d begins at version %d and listens at %s:%d", *begins, *self.address)

    def close(self) -> None:
        """End the training and hang up every connection; worker loops then end by themselves. Idempotent."""
        if not self._closed.is_set():
            _LOG.info("the shard at %s:%d closes at version %d", *self.address, self.shard.store.version)
        self._closed.set()  # it accepts no more
        with self._lock:
            channels = list(self._channels)
        for channel in channels:
            channel.hang_up()  # their threads close them
        self._links.hang_up()
        self.workers.close()
        self.shard.end("closed")  # last: no driver is to read this as the training's end, but to miss the server

    def leave(self, seconds: float) -> None:
        """Tell the driver that this task is to end; return when it has let go, or after `seconds`. For any thread."""
        self.driver.leaving = True
        self._closed.wait(seconds if self.driver.has_driver else 0)

    def _beat(self):
        """Say on every connection that this process is there while it works: an update or a snapshot may take long."""
        while not self._closed.wait(WIRE_HEARTBEAT_EVERY):
            with self._lock:
                channels = list(self._channels)
            for channel in channels:
                with suppress(OSError, ValueError):  # its own thread finds out
                    channel.beat()

    def _refusal(self, fields):
        """Return why this handshake is refused, or None."""
        role, incarnation = fields.get("role"), fields.get("incarnation")
        if role not in ("driver", "worker", "log", "reports"):
            return "a handshake says its role: driver or worker."
        if incarnation != self.shard.incarnation:
            here = f"this parameter server is incarnation {self.shard.incarnation} of the training"
            return f"{here}; the {role} belongs to incarnation {incarnation}."
        if role == "driver":
            return self.driver.refusal(fields.get("term"))
        return self.workers.refusal(fields) if role == "worker" else None

    def _serve(self, channel, fields):
        with self._lock:
            self._channels.add(channel)
        try:
            if not self._closed.is_set():
                self._serve_role(channel, fields)
        finally:
            channel.close()
            with self._lock:
                self._channels.discard(channel)

    def _serve_role(self, channel, fields):
        if fields["role"] == "worker":
            self.workers.serve(channel, fields)
        elif fields["role"] == "driver":
            self.driver.serve(channel, fields)
        elif fields["role"] == "log":
            serve_log(self.shard, channel)
        else:
            serve_reports(self.shard, channel, self._closed)


@atexit.register
def _close_all():
    """Close what is open when the process ends: a thread in the middle of PyTorch's own code would abort it."""
    for server in list(_OPEN):
        server.close()
    wait_for_threads(STEPS_END_AT_EXIT)
