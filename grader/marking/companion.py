"""What a submission works against, in a second sandbox of the grader's: a parameter server that is killed, tasks.

What watches from the student's own process can be talked into anything. This is another process, of another user, with
files of its own; the two share a network that has one address, 127.0.0.1. What the second one saw is evidence.
"""

import json
import struct
import time
from dataclasses import replace

from course.checks.exercise import Observed
from grader.inside.wire import pack
from grader.marking.result_types import Malformed
from grader.sandbox import Profile, SandboxStopped

START = 60.0  # seconds on a busy machine
LAST_WORDS = 20.0  # seconds to say what it saw
TEXT = 4096
MEMORY = 256 << 20


class Neighbour:
    """The grader's sandbox beside a submission's, started with the first question that needs it. `close()` ends it."""

    def __init__(self, sandbox, program, seconds):
        """`sandbox`: what makes one of a profile; `program`: source of its main program; `seconds`: the most in all."""
        self._sandbox, self._program, self._seconds = sandbox, program, seconds
        self._running = None

    def ask(self, exercise, case, first, ask):
        """Return the answer of `ask(exercise, case, kind)` with what the host saw beside it, as `Observed`.

        `first`: the submission's sandbox. RuntimeError when the host does not come up: our side's mistake. One that
        ends twice while a submission works against it was brought to that: the answer says so. SandboxStopped when
        `first` has ended.
        """
        answer = self._ask_once(exercise, case, first, ask)
        if answer.kind == "broke down":  # once may be a machine that was too busy, and must not cost honest work
            answer = self._ask_once(exercise, case, first, ask)
        return replace(answer, kind="raised") if answer.kind == "broke down" else answer

    def _ask_once(self, exercise, case, first, ask):
        address = self._begin(exercise.host, case, first)
        answer = ask(exercise, replace(case, arguments=(address, *case.arguments)), exercise.kind(case))
        try:
            seen = self._end(exercise.host.seen)
        except (SandboxStopped, Malformed, ValueError, struct.error) as problem:
            self.close()
            return replace(answer, kind="broke down", value=None, text=f"what it worked against broke down: {problem}")
        return replace(answer, value=Observed(answer.value, seen)) if answer.kind == "value" else answer

    def close(self):
        """End the sandbox, if it runs."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def _begin(self, host, case, first):
        request = {"host": host.source, "plan": case.plan, "evidence": host.seen.plan()}
        try:
            if self._running is None:
                profile = Profile(seconds=self._seconds, memory=MEMORY, network="loopback")
                self._running = self._sandbox(profile).start(self._program, beside=first)
            self._send(pack(request), START)
            status, told = self._receive(1, START), self._text(START)
        except SandboxStopped as stopped:
            self.close()
            if first.ended is not None:
                raise SandboxStopped(first.ended) from None  # with its network; the submission's doing, not the host's
            raise RuntimeError(f"the host ended: {stopped.ended}: {stopped.ended.stderr.strip()[-500:]}") from None
        if status != b"h":
            raise RuntimeError(f"the host did not start: {told}")
        return json.loads(told)

    def _end(self, kind):
        self._send(b"", LAST_WORDS)
        status = self._receive(1, LAST_WORDS)
        if status != b"v":
            raise Malformed(self._text(LAST_WORDS))
        deadline = time.monotonic() + LAST_WORDS
        return kind.read(lambda count: self._receive(count, deadline - time.monotonic()))

    def _send(self, message, seconds):
        self._running.send(struct.pack("<Q", len(message)) + message, seconds)

    def _receive(self, count, seconds):
        return self._running.receive(count, max(0.0, seconds)) if count else b""

    def _text(self, seconds):
        (length,) = struct.unpack("<I", self._receive(4, seconds))
        if length > TEXT:
            raise Malformed(f"a text of {length} bytes")
        return self._receive(length, seconds).decode("utf-8", "replace")
