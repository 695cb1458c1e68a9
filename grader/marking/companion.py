"""The host that a submission works against, in a second sandbox of the grader's: a parameter server, tasks.

Students' code could deceive a watcher in its own process. A companion is another process, of another user, with files
of its own; the two share a network that has one address, 127.0.0.1. The companion's record is evidence.
"""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from course.checks.exercise import Case, Observed
from grader.inside.values import pack
from grader.lab.spec import Marking
from grader.marking.messages import Messages
from grader.marking.result_types import Malformed
from grader.sandbox import Profile, SandboxStopped
from grader.sandbox.pipes import Pipes

START = 60.0  # seconds on a busy machine
LAST_WORDS = 20.0  # seconds to say what it saw
MEMORY = 256 << 20


class Companion:
    """The grader's sandbox beside a submission's, started with the first question that needs it. `close()` ends it."""

    def __init__(self, sandbox: Callable, program: str, seconds: float) -> None:
        """`sandbox`: what makes one of a profile; `program`: source of its main program; `seconds`: the most in all."""
        self._sandbox, self._program, self._seconds = sandbox, program, seconds
        self._messages = None

    def ask(self, exercise: Marking, case: Case, first: Pipes, ask: Callable) -> Any:
        """Return the answer of `ask(exercise, case, kind)` with what the host saw beside it, as `Observed`.

        `first`: the submission's sandbox, running. Raises RuntimeError when the host does not come up, the
        grader's mistake, and SandboxStopped when `first` has ended. The answer is wrong where it brought the host down
        twice.
        """
        answer = self._ask_once(exercise, case, first, ask)
        if answer.kind == "broke down":  # once may be a machine that was too busy, and must not cost honest work
            answer = self._ask_once(exercise, case, first, ask)
        return replace(answer, kind="raised") if answer.kind == "broke down" else answer

    def close(self) -> None:
        """End the sandbox, if it runs."""
        if self._messages is not None:
            self._messages.running.close()
            self._messages = None

    def _ask_once(self, exercise, case, first, ask):
        address = self._begin(exercise.host, case, first)
        answer = ask(exercise, replace(case, arguments=(address, *case.arguments)), exercise.kind(case))
        try:
            record = self._end(exercise.host.seen)
        except (SandboxStopped, Malformed) as problem:
            self.close()
            return replace(answer, kind="broke down", value=None, text=f"what it worked against broke down: {problem}")
        return replace(answer, value=Observed(answer.value, record)) if answer.kind == "value" else answer

    def _begin(self, host, case, first):
        request = {"host": host.source, "plan": case.plan, "evidence": host.seen.plan()}
        try:
            if self._messages is None:
                profile = Profile(seconds=self._seconds, memory=MEMORY, network="loopback")
                self._messages = Messages(self._sandbox(profile).start(self._program, beside=first))
            deadline = time.monotonic() + START
            self._messages.send(pack(request), deadline)
            status, text = self._messages.receive(1, deadline), self._messages.text(deadline)
        except SandboxStopped as stopped:
            self.close()
            if first.ended is not None:
                raise SandboxStopped(first.ended) from None  # with its network; the submission's doing, not the host's
            raise RuntimeError(f"the host ended: {stopped.ended}: {stopped.ended.stderr.strip()[-500:]}") from None
        if status != b"h":
            raise RuntimeError(f"the host did not start: {text}")
        return json.loads(text)

    def _end(self, kind):
        deadline = time.monotonic() + LAST_WORDS
        self._messages.send(b"", deadline)
        if self._messages.receive(1, deadline) != b"v":
            raise Malformed(self._messages.text(deadline))
        return self._messages.value(kind, deadline)
