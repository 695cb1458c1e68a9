"""The connections between shards: shard 0's log goes out to each follower, and each follower's reports come in."""

import logging
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from course.training.records import Route
from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.server.update_log import Entry, PushId
from course.training.transport.listener import start_thread
from course.training.transport.wire import WIRE_HEARTBEAT_EVERY, Channel, connect

_LOG = logging.getLogger(__name__)


class FollowerLink:
    """Shard 0's two connections to the follower at `address`: the log goes out on one, reports come in on the other.

    `handshake` says which training. Sending never raises: `listen`, in its own thread, says when the follower is gone.
    """

    def __init__(self, address: tuple[str, int], handshake: dict[str, Any], context: ssl.SSLContext | None = None):
        self._log = connect(address, {**handshake, "role": "log"}, context)
        try:
            self._reports = connect(address, {**handshake, "role": "reports"}, context)
        except BaseException:
            self._log.close()
            raise
        self._sending = threading.Lock()

    def send_entry(self, entry: Entry) -> None:
        """Send one `Entry` of the log."""
        self._send("ENTR", entry.as_json())

    def listen(
        self, staged: Callable[[PushId], None], lost: Callable[[PushId], None], ended: Callable[..., None]
    ) -> None:
        """Call `staged(PushId)` or `lost(PushId)` for each report, `ended(why=…, text=…)` when training must end."""
        try:
            while True:
                report = self._reports.receive().text()
                if not isinstance(report, dict):
                    staged(PushId(*report))
                elif "left" in report:
                    lost(PushId(*report["left"]))
                else:
                    ended(**report)
        except (OSError, ValueError, TypeError) as error:
            ended(why="shard", text=f"shard 0 and it have lost each other: {error}")
        finally:
            self.hang_up()
            with self._sending:
                self._log.close()
            self._reports.close()

    def send_heartbeat(self) -> None:
        """Say that shard 0 is there."""
        self._send("BEAT", {})

    def hang_up(self) -> None:
        """End both connections, which wakes `listen`. Idempotent."""
        self._log.hang_up()
        self._reports.hang_up()

    def _send(self, kind, payload):
        with self._sending:
            try:
                self._log.send(kind, payload=payload)
            except (OSError, ValueError):  # ValueError: the connection was closed here
                self.hang_up()  # wakes `listen`, which ends the training; this thread holds the shard's lock


class ShardLinks:
    """Shard 0's links to its followers: once connected, they follow it. Close ends them.

    `handshake`, `context`: as for `FollowerLink`. `route`: the way to the other shards, None: straight. `closed`: set
    when the shard closes.
    """

    def __init__(
        self,
        shard: Coordinator | Follower,
        handshake: dict[str, Any],
        context: ssl.SSLContext | None,
        route: Route | None,
        closed: threading.Event,
    ):
        self._shard: Any = shard  # the `Coordinator`, wherever a driver asks to connect
        self._handshake, self._context, self._route, self._closed = handshake, context, route, closed
        self._lock, self._links = threading.Lock(), list[FollowerLink]()

    def connect(self, endpoints: Sequence[tuple[str, int]]) -> None:
        """Connect to the other shards, which listen at these (host, port); from now on they follow this one."""
        for number, endpoint in enumerate(endpoints):
            address = endpoint if self._route is None else self._route(endpoint)
            link = FollowerLink(address, self._handshake, self._context)
            with self._lock:
                self._links.append(link)
            start_thread(self._listen, number, link)
        self._shard.attach_followers(list(self._links))
        if endpoints:
            _LOG.info("%d other shards follow this one", len(endpoints))
            start_thread(self._send_heartbeats)

    def hang_up(self) -> None:
        """End all links; their threads close them. Idempotent."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.hang_up()

    def _listen(self, number, link):
        def ended(**end):
            self._shard.end(**({"shard": number + 1} if end["why"] == "shard" else {}), **end)

        link.listen(lambda push: self._shard.staged(number, push), self._shard.slots.disconnect, ended)

    def _send_heartbeats(self):
        while not self._closed.wait(WIRE_HEARTBEAT_EVERY):
            for link in self._links:
                link.send_heartbeat()


def serve_log(shard: Follower, channel: Channel) -> None:
    """Have the follower do what shard 0's log says, until that connection ends: without it there is no training."""
    channel.send("OKAY")
    try:
        while True:
            shard.follow(Entry.from_json(channel.receive().text()))
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) and shard.report is not None:
            with suppress(OSError):  # shard 0 has gone too: it needs no reason
                shard.report({"why": "shard", "text": f"it can't follow the order: {error}"})
        shard.end("shard", f"it and shard 0 have lost each other: {error}", shard=0)


def serve_reports(shard: Follower, channel: Channel, closed: threading.Event) -> None:
    """Have the follower send its reports to shard 0 over `channel`, and heartbeats until it is `closed`."""
    sending = threading.Lock()

    def send(kind, payload=b""):
        with sending:
            channel.send(kind, payload=payload)

    shard.report = partial(send, "RPRT")  # before the answer: pushes may come right after it
    channel.send("OKAY")
    while not closed.wait(WIRE_HEARTBEAT_EVERY):
        send("BEAT")
