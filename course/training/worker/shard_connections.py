"""A worker's connections to all shards, as one: push a gradient, get the next parameters, all of one version."""

import ssl
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from course.training.transport.layout import Layout
from course.training.transport.shared_memory import offer
from course.training.transport.wire import HANDSHAKE_LIMIT, connect, start_beating


class Answer(NamedTuple):
    """What came back: `version` of the parameters (None: training is over), `taken`: the last push that was decided."""

    version: int | None
    taken: int


class ShardConnections:
    """One worker's connections to every shard of a training. `parameters` and `gradients` are views of their buffers.

    `endpoints`: (host, port) of each shard, shard 0 first; `layouts`: the tensors of each. `share`: whether tensors may
    lie in memory that both ends share, on one host. A thread sends heartbeats twice a second, unless the worker has
    just pushed.
    """

    def __init__(
        self,
        endpoints: Sequence[tuple[str, int]],
        layouts: Sequence[Layout],
        handshake: dict[str, Any],
        context: ssl.SSLContext | None = None,
        share: bool = True,
    ):
        self._channels, self._over = [], threading.Event()
        try:
            for (host, port), layout in zip(endpoints, layouts, strict=True):
                channel = connect((host, port), {**handshake, "layout": layout.as_json()}, context)
                self._channels.append(channel)
            for pair in reversed(list(zip(self._channels, layouts, strict=True))):
                _join(*pair, share)  # shard 0 last: by then the others have a reply slot for its order
        except BaseException:
            self.close()
            raise
        start_beating(lambda: self._channels, self._over, "worker-heartbeat")
        self.parameters = {name: view for c in self._channels for name, view in c.received.items()}
        self.gradients = {name: view for c in self._channels for name, view in c.sending.items()}

    def receive(self) -> Answer:
        """Return the next `Answer`; raises OSError when a shard is gone, or silent for 3 s."""
        frames = []
        self._note_unread(time.monotonic())
        for channel in self._channels:
            frames.append(channel.receive(HANDSHAKE_LIMIT))
            if frames[-1].kind != "PARM":
                return Answer(None, frames[0].sequence)
        self._note_unread(None)
        versions = [frame.number for frame in frames]
        if min(versions) != max(versions):
            raise ConnectionError(f"the shards answered with versions {versions}.")
        return Answer(versions[0], frames[0].sequence)

    def push(self, loss: float, sequence: int, acknowledged: int) -> None:
        """Send what stands in `gradients` to every shard; raises OSError when one is gone."""
        for channel in self._channels:
            channel.send_tensors("PUSH", acknowledged, loss, sequence)

    def bye(self, sent: int, acknowledged: int) -> None:
        """Say how many pushes were sent, and how many are known to be decided, at the end."""
        for channel in self._channels:
            channel.send("BYE!", acknowledged, sequence=sent)

    def fail(self, words: str) -> None:
        """Tell shard 0 that the problem's code failed."""
        self._channels[0].send("FAIL", payload=words[: HANDSHAKE_LIMIT // 8].encode())

    def close(self) -> None:
        """Close every connection, which wakes a thread that waits on one. Idempotent."""
        self._over.set()
        for channel in self._channels:
            channel.close()

    def _note_unread(self, since):
        """Note from when on the shards may read nothing: one that has answered waits for the push, in others' updates.

        It gets no heartbeats after a while: its buffer isn't endless.
        """
        for channel in self._channels:
            channel.unread_since = since


def _join(channel, layout, share):
    """Join the training of the shard behind `channel`, and agree with it on where a step's tensors lie."""
    offered = offer(layout.nbytes, channel.connection) if share else None
    try:
        channel.send("JOIN", payload=offered.fields if offered else b"")
        answer = channel.receive(HANDSHAKE_LIMIT)
        if answer.kind != "SLOT":
            raise ConnectionError("a shard gave this worker no reply slot.")
    finally:
        if offered:
            offered.close()
    shared = offered.halves if offered and answer.number else None
    channel.agree(layout, shared)
    if shared:
        channel.go_over_to(shared.pipes)
