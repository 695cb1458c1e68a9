"""One shard's process: it listens for a driver, workers and the other shards, and ends when its driver ends."""

import atexit
import logging
import ssl
import threading
import weakref
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.problems.problem import MakeOptimizer
from course.training.records import Route, TrainingSettings
from course.training.server.coordinator import Coordinator
from course.training.server.driver_service import DriverService
from course.training.server.follower import Follower
from course.training.server.shard_links import FollowerLink, serve_log, serve_reports
from course.training.server.store import ParameterServer
from course.training.server.worker_service import WorkerService
from course.training.transport.layout import Layout
from course.training.transport.listener import Listener, start_thread, wait_for_threads
from course.training.transport.wire import Channel, start_beating

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
        self._channels, self._lock, self._closed = set[Channel | FollowerLink](), threading.Lock(), threading.Event()
        self._handshake, self._route = {"token": token, "incarnation": incarnation}, route
        listen, self._call = contexts
        self.workers = WorkerService(self.shard, Layout.of(parameters))
        self.driver = DriverService(self.shard, self._connect_followers, self.close)
        _OPEN.add(self)
        tick = self.driver.close_if_forsaken
        self.address = Listener(self._serve_role, self._refusal, tick, self._closed, token, listen, host, ports).address
        self.workers.start()
        start_beating(self._open_channels, self._closed, "shard-heartbeat")
        begins = shard, shards, incarnation, store.version
        _LOG.info("shard %d of %d: incarnation %d begins at version %d and listens at %s:%d", *begins, *self.address)

    def close(self) -> None:
        """End the training and hang up every connection; worker loops then end by themselves. Idempotent."""
        if not self._closed.is_set():
            _LOG.info("the shard at %s:%d closes at version %d", *self.address, self.shard.store.version)
        self._closed.set()  # it accepts no more
        for channel in self._open_channels():
            channel.hang_up()  # their threads close them
        self.workers.close()
        self.shard.end("closed")  # last: no driver is to read this as the training's end, but to miss the server

    def leave(self, seconds: float) -> None:
        """Tell the driver that this task is to end; return when it has let go, or after `seconds`. For any thread."""
        self.driver.leaving = True
        self._closed.wait(seconds if self.driver.has_driver else 0)

    def _open_channels(self):
        with self._lock:
            return list(self._channels)

    def _connect_followers(self, endpoints: Sequence[tuple[str, int]]) -> None:
        """Connect shard 0 to the other shards, which listen at these (host, port); from now on they follow it."""
        coordinator: Any = self.shard  # which shard 0 is, and a driver asks no other one
        links = []
        for number, endpoint in enumerate(endpoints, 1):
            address = endpoint if self._route is None else self._route(endpoint)
            links.append(FollowerLink(number, address, self._handshake, self._call))
            start_thread(self._serve, links[-1], links[-1].listen, coordinator)
        coordinator.attach_followers(links)
        if links:
            _LOG.info("%d other shards follow this one", len(links))

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

    def _serve(self, channel, serve, *arguments):
        """Call `serve` unless the shard is closed; meanwhile the channel gets heartbeats, and can be hung up."""
        with closing(channel):
            with self._lock:
                self._channels.add(channel)
            try:
                if not self._closed.is_set():
                    serve(*arguments)
            finally:
                with self._lock:
                    self._channels.discard(channel)

    def _serve_role(self, channel, fields):
        if fields["role"] == "worker":
            self._serve(channel, self.workers.serve, channel, fields)
        elif fields["role"] == "driver":
            self._serve(channel, self.driver.serve, channel, fields)
        elif fields["role"] == "log":
            self._serve(channel, serve_log, self.shard, channel)
        else:
            self._serve(channel, serve_reports, self.shard, channel, self._closed)


@atexit.register
def _close_all():
    """Close what is open when the process ends: a thread in the middle of PyTorch's own code would abort it."""
    for server in list(_OPEN):
        server.close()
    wait_for_threads(STEPS_END_AT_EXIT)
