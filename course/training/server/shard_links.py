"""The connections between shards: shard 0's log goes out to each follower, and each follower's reports come in."""

import ssl
import threading
from contextlib import closing, suppress
from typing import Any

from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.server.update_log import Entry, PushId
from course.training.transport.wire import Channel, connect


class FollowerLink:
    """Shard 0's two connections to shard `number` at `address`: the log goes out on one, reports come in on the other.

    `handshake` says which training. Sending an entry never raises: `listen`, in its own thread, finds out.
    """

    def __init__(
        self, number: int, address: tuple[str, int], handshake: dict[str, Any], context: ssl.SSLContext | None = None
    ):
        self._number, self._log = number, connect(address, {**handshake, "role": "log"}, context)
        try:
            self._reports = connect(address, {**handshake, "role": "reports"}, context)
        except BaseException:
            self._log.close()
            raise

    def send_entry(self, entry: Entry) -> None:
        """Send one `Entry` of the log."""
        try:
            self._log.send("ENTR", payload=entry.as_json())
        except (OSError, ValueError):  # ValueError: the connection was closed here
            self.hang_up()  # wakes `listen`, which ends the training; this thread holds the shard's lock

    def listen(self, shard: Coordinator) -> None:
        """Tell `shard` what the follower reports, until they lose each other, which ends the training."""
        try:
            while True:
                report = self._reports.receive().text()
                if not isinstance(report, dict):
                    shard.staged(self._number, PushId(*report))
                elif "left" in report:
                    shard.slots.disconnect(PushId(*report["left"]))
                else:
                    shard.end(**(report | {"shard": self._number} if report.get("why") == "shard" else report))
        except (OSError, ValueError, TypeError) as error:
            shard.end("shard", f"shard 0 and it have lost each other: {error}", shard=self._number)

    def beat(self) -> None:
        """Say that shard 0 is there. Raises OSError."""
        self._log.beat()

    def hang_up(self) -> None:
        """End both connections, which wakes `listen`. Idempotent."""
        self._log.hang_up()
        self._reports.hang_up()

    def close(self) -> None:
        """Close both connections. Idempotent."""
        with closing(self._log), closing(self._reports):
            self.hang_up()


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
    """Have the follower send its reports to shard 0 over `channel`, until the shard is `closed`."""
    # before the answer: pushes may come right after it
    shard.report = lambda report: channel.send("RPRT", payload=report)
    channel.send("OKAY")
    closed.wait()
