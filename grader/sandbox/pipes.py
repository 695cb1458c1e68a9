"""The two pipes between the grader and what runs in a sandbox: requests in, evidence out, each with a deadline."""

import os
import select
import time
from collections.abc import Callable
from typing import Any, NoReturn, Self

from grader.sandbox.errors import Ended, SandboxStopped

AT_ONCE = 64 * 1024  # bytes: what a pipe holds


class Pipes:
    """A program at the other end of two pipes; use it in a `with`, whose end ends the program.

    A subclass sets `_requests` and `_evidence` (descriptors that don't block) and `_deadline` (of the whole, on the
    monotonic clock), and says how the program is ended: `stop` and `close`.
    """

    ended: Any = None  # `errors.Ended`, once it has
    work: str  # path, from outside, of the folder in which the program works
    before_end: Callable[[], object] = staticmethod(lambda: None)  # called where the program is seen to have stopped
    _requests: int
    _evidence: int
    _deadline: float

    def send(self, data: bytes, seconds: float | None = None) -> None:
        """Write all of `data` within `seconds` and the sandbox's own limit; raises SandboxStopped."""
        view, deadline = memoryview(data), self._until(seconds)
        while view:
            self._wait(self._requests, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._requests, view[:AT_ONCE]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._stopped("silent")

    def receive(self, count: int, seconds: float | None = None) -> bytes:
        """Return exactly `count` bytes of evidence, within `seconds`; raises SandboxStopped when they don't come."""
        data, deadline = bytearray(), self._until(seconds)
        while len(data) < count:
            self._wait(self._evidence, select.POLLIN, deadline)
            try:
                more = os.read(self._evidence, min(count - len(data), AT_ONCE))
            except BlockingIOError:
                continue
            if not more:
                self._stopped("silent")
            data += more
        return bytes(data)

    def stop(self, limit: str) -> None:
        """Kill everything inside; `limit`, a key of `errors.SENTENCES`, says why. The first reason stays."""
        raise NotImplementedError

    def warn(self) -> None:
        """Send SIGTERM to the program, if it still runs."""
        raise NotImplementedError

    def close(self) -> Ended:
        """End what still runs, wait until it is gone, and give everything back. May be called again."""
        raise NotImplementedError

    def processor_seconds(self) -> float | None:
        """Return what all its processes used so far, those that have ended too; None where it is not counted."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _until(self, seconds):
        return self._deadline if seconds is None else min(self._deadline, time.monotonic() + seconds)

    def _wait(self, descriptor, event, deadline):
        if not is_ready(descriptor, event, deadline - time.monotonic()):
            self._stopped("time")

    def _stopped(self, limit: str) -> NoReturn:
        self.before_end()
        self.stop(limit)
        raise SandboxStopped(self.close())


def is_ready(descriptor: int, event: int, seconds: float) -> bool:
    """Return whether `event` (of `select.poll`) or an end comes at `descriptor` within `seconds`."""
    poll = select.poll()  # `select` itself knows no number above 1023
    poll.register(descriptor, event)
    return bool(poll.poll(max(0.0, seconds) * 1000))
