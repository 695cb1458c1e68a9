"""A sandbox whose other end is a script: what it writes is fixed beforehand, and what it is sent is kept."""

import struct
import time
from typing import Any

from grader.inside.values import unpack
from grader.sandbox import SandboxStopped
from grader.sandbox.errors import Ended
from grader.sandbox.pipes import Pipes


class ScriptedPipes(Pipes):
    """Writes these bytes, then ends as `limit` says. `sent`: the requests, unpacked; `until`: deadlines."""

    def __init__(self, *written: bytes, limit: str = "silent", stderr: str = "", used: tuple = ()) -> None:
        self._written, self._limit, self._stderr, self._used = b"".join(written), limit, stderr, list(used)
        self.sent: list[Any] = []
        self.until: list[float] = []
        self.closed = 0

    def send(self, data: bytes, seconds: float | None = None) -> None:
        self._note(seconds)
        assert struct.unpack_from("<Q", data) == (len(data) - 8,)
        self.sent.append(unpack(data[8:]) if len(data) > 8 else None)

    def receive(self, count: int, seconds: float | None = None) -> bytes:
        self._note(seconds)
        if len(self._written) < count:
            self._stopped(self._limit)
        data, self._written = self._written[:count], self._written[count:]
        return data

    def stop(self, limit: str) -> None:
        self.ended = self.ended or Ended(limit, None, "", self._stderr, 1.0, 1.0, 1)

    def close(self) -> Ended:
        self.closed += 1
        self.stop("closed")
        return self.ended

    def processor_seconds(self) -> float | None:
        return self._used.pop(0) if self._used else None

    def _note(self, seconds):
        if self.ended is not None:
            raise SandboxStopped(self.ended)
        assert seconds is not None and seconds > 0
        self.until.append(time.monotonic() + seconds)


class ScriptedSandboxes(list):
    """Stands for `Sandbox`: gives out these pipes, one after another, and keeps the `profiles` it was asked for."""

    def __init__(self, *pipes: ScriptedPipes) -> None:
        super().__init__(pipes)
        self.profiles: list[Any] = []

    def __call__(self, profile: Any) -> "ScriptedSandboxes":
        self.profiles.append(profile)
        return self

    def start(self, program: str, beside: Any = None) -> ScriptedPipes:
        return self.pop(0)


def text(words: str) -> bytes:
    """Return `words` as a sandbox writes them: after their length."""
    return struct.pack("<I", len(words.encode())) + words.encode()
