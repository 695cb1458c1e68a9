"""A worker's connections to all shards, as one: push a gradient, get the next parameters, all of one version."""

import contextlib
import threading
from typing import NamedTuple

from course.training.transport.shared_memory import offer
from course.training.transport.wire import HANDSHAKE_LIMIT, HEARTBEAT, connect


class Answer(NamedTuple):
    """What came back: `version` of the parameters (None: training is over), `taken`: the last push that was taken."""

    version: int | None
    taken: int


class ShardConnections:
    """One worker's connections to every shard of a training. `parameters` and `gradients` are views of their buffers.

    `layouts`: of each shard, shard 0 first. While the worker is in `computing`, a thread says twice a second that it is
    there, unless it has just pushed.
    """

    def __init__(self, endpoints, layouts, handshake, context=None):
        self._channels, self._talking, self._pushes = [], threading.Lock(), 0
        self._over = threading.Event()
        self._talking.acquire()  # ours until we compute
        try:
            for address, layout in zip(endpoints, layouts, strict=True):
                channel = connect(tuple(address), {**handshake, "layout": layout.as_json()}, context)
                self._channels.append(channel)
            for pair in reversed(list(zip(self._channels, layouts, strict=True))):
                _take_a_seat(*pair)  # shard 0 last: by then the others have a seat for its order
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._send_heartbeats, daemon=True, name="worker-beat").start()
        self.parameters = {name: view for c in self._channels for name, view in c.received.items()}
        self.gradients = {name: view for c in self._channels for name, view in c.sending.items()}

    def receive(self):
        """Return the next `Answer`; raises OSError when a shard is gone, or silent for 3 s."""
        frames = []
        for channel in self._channels:
            frames.append(channel.receive(HANDSHAKE_LIMIT))
            if frames[-1].kind != "PARM":
                return Answer(None, frames[0].sequence)
        versions = [frame.number for frame in frames]
        if min(versions) != max(versions):
            raise ConnectionError(f"the shards answered with versions {versions}.")
        return Answer(versions[0], frames[0].sequence)

    def push(self, loss, sequence, acknowledged):
        """Send what stands in `gradients` to every shard."""
        for channel in self._channels:
            channel.send_tensors("PUSH", acknowledged, loss, sequence)
        self._pushes += 1

    def bye(self, sent, acknowledged):
        """Say how many pushes were sent, and how many known to be taken, at the end."""
        for channel in self._channels:
            channel.send("BYE!", acknowledged, sequence=sent)

    def fail(self, words):
        """Tell shard 0 that the problem's code failed."""
        self._channels[0].send("FAIL", payload=words[: HANDSHAKE_LIMIT // 8].encode())

    @contextlib.contextmanager
    def computing(self):
        """Within the `with`, beats may be sent."""
        self._talking.release()
        try:
            yield
        finally:
            self._talking.acquire()

    def close(self):
        """Close every connection, and wake whoever waits on one. Idempotent."""
        self._over.set()
        for channel in self._channels:
            channel.close()

    def _send_heartbeats(self):
        seen = 0
        while not self._over.wait(HEARTBEAT / 2):
            quiet, seen = self._pushes == seen, self._pushes
            if quiet and self._talking.acquire(blocking=False):
                try:
                    for channel in self._channels:
                        channel.send("BEAT")
                except (OSError, ValueError):
                    return  # the loop finds out by itself when it pushes
                finally:
                    self._talking.release()


def _take_a_seat(channel, layout):
    """Join the training of the shard behind `channel`, and agree with it on where a step's tensors lie."""
    offered = offer(layout.nbytes, channel.connection)
    try:
        channel.send("JOIN", payload=offered.told if offered else b"")
        answer = channel.receive(HANDSHAKE_LIMIT)
        if answer.kind != "SEAT":
            raise ConnectionError("a shard gave us no seat.")
    finally:
        if offered:
            offered.close()
    channel.agree(layout, offered.halves if offered and answer.number else None)
