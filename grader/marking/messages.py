"""Messages to and from a program in a sandbox: a length and bytes to it, bytes of bounded length from it."""

import struct
import time
from dataclasses import dataclass

from grader.marking.bounds import bounded
from grader.marking.result_types import Kind, Malformed
from grader.sandbox import SandboxStopped
from grader.sandbox.bootstrap import framed
from grader.sandbox.pipes import Pipes

TEXT = 4096  # bytes of text in an answer
MOST = 128 * 1024 * 1024  # bytes of one answer, whatever its kinds allow together


class Stopped(Exception):
    """The submission can't answer any more. `state`: "timed_out" or "crashed"; `cell`: the cell that was running."""

    def __init__(self, state: str, why: str, cell: int | None = None) -> None:
        super().__init__(why)
        self.state, self.why, self.cell = state, why, cell


@dataclass(frozen=True)
class Answer:
    """An answer: `value` when `kind` is "value", else `text` says what was wrong.

    `kind`: "value", "raised", "other kind" or "absent"; of an answer that is called from outside (`marking.outside`)
    also "step", with what it asks for, "laid", and "ended": its sandbox has ended by itself. `seconds`, for a race: of
    processor time, of all processes together, from the question to the last byte; by the clock where processor time is
    not counted.
    """

    kind: str
    value: object = None
    text: str = ""
    seconds: float = 0.0


class Messages:
    """The messages to and from one running sandbox; every deadline is a time of the monotonic clock.

    Each method raises SandboxStopped once the sandbox has ended or the deadline has passed.
    """

    def __init__(self, running: Pipes) -> None:
        """`running`: as `Sandbox.start` gives it."""
        self.running = running

    def send(self, message: bytes, deadline: float) -> None:
        """Send `message` after its length in 8 bytes."""
        self.running.send(framed(message), deadline - time.monotonic())

    def receive(self, count: int, deadline: float) -> bytes:
        """Return exactly `count` bytes."""
        if time.monotonic() > deadline:  # an endless writer is always ready to be read
            self.running.stop("time")
            raise SandboxStopped(self.running.close())
        return self.running.receive(count, deadline - time.monotonic()) if count else b""

    def text(self, deadline: float, limit: int = TEXT) -> str:
        """Return a text that comes after its length in 4 bytes. Raises Malformed for one above `limit` bytes."""
        (length,) = struct.unpack("<I", self.receive(4, deadline))
        if length > limit:
            raise Malformed(f"a text of {length} bytes; the limit is {limit}")
        return self.receive(length, deadline).decode("utf-8", "replace")

    def value(self, kind: Kind, deadline: float) -> object:
        """Return the next value, of `kind`.

        Raises Malformed where it is of another kind, or too much in all, and OutOfBounds for a value that was read
        whole and is more than a judge should look at.
        """
        remaining = MOST  # lists of arrays may each keep to their limit and be too much together

        def within(count):
            nonlocal remaining
            remaining -= count
            if remaining < 0:
                raise Malformed(f"more than {MOST} bytes in all")
            return self.receive(count, deadline)

        try:
            return bounded(kind.read(within))
        except Malformed:
            raise
        except (ValueError, OverflowError, MemoryError) as problem:
            raise Malformed(str(problem) or "more than can be held") from None
