"""Calling an answer from the grader's own process, with a folder that is laid and watched from outside its sandbox.

For answers that are judged by what they do to a folder. The loop over calls is the lab's and runs here; in the sandbox
there are the answer, the folder, and a function that asks for a step over the pipe.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

from grader.inside.values import pack
from grader.lab.spec import Case, Marking
from grader.marking.messages import Answer, Stopped
from grader.marking.result_types import Integer, Kind, Tuple_
from grader.marking.watched_folder import Entry, TooMuch, WatchedFolder

STEP = Tuple_(Integer(), Integer())  # what a step is called with: its number and a state


def called_outside(submission: Any, exercise: Marking, case: Case) -> Answer:
    """Return the `Answer` of the lab's own loop, `exercise.outside(case, outside)`."""
    assert exercise.outside is not None  # only such an exercise comes here
    with Outside(submission, exercise, exercise.kind(case)) as outside:
        try:
            return exercise.outside(case, outside)
        except TooMuch as problem:
            return Answer("raised", text=f"its folder can't be read: {problem}")


class Outside:
    """A submission whose entry is called with its folder, any number of times. Use it in a `with`."""

    def __init__(self, submission: Any, exercise: Marking, kind: Kind) -> None:
        """`submission`: a `SandboxedSubmission` whose cells were run; `kind`: of what the entry returns."""
        self._submission, self._exercise, self._kind = submission, exercise, kind
        self._folder = f"folder-{next(submission.numbers)}"  # where the answer works; each question has its own
        self._stack = ExitStack()
        self._watched: WatchedFolder | None = None
        self._last: list[dict[str, Entry]] | None = None  # its moments when the sandbox had ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def another(self) -> "Outside":
        """Return the same submission in a sandbox of its own, its cells run anew; raises Stopped."""
        fresh = self._submission.another()
        outside = Outside(fresh, self._exercise, self._kind)
        outside._stack.push(fresh)
        try:
            fresh.run_cells()
        except BaseException:
            outside._stack.close()
            raise
        return outside

    def lay(self, entries: Mapping[str, Entry]) -> Answer:
        """Make the folder anew with `entries` and watch it; the `Answer` is of the kind "laid" where that went well."""
        self._forget()
        laid = {path: (entry.data, entry.changed) for path, entry in entries.items()}
        answer = self._exchanged({"lay": self._folder, "entries": laid})
        if answer.kind == "laid":
            try:
                self._watched = WatchedFolder(os.path.join(self._submission.running.work, self._folder))
            except (NotADirectoryError, FileNotFoundError) as problem:
                return Answer("raised", text=f"its folder is gone: {problem.strerror}")
            self._submission.running.before_end = self._look_last
            self._stack.callback(self._forget)
        return answer

    @property
    def entries(self) -> dict[str, Entry]:
        """What lay in the folder when it was last looked at."""
        return {} if self._watched is None else self._watched.entries

    def look(self) -> list[dict[str, Entry]]:
        """Look at the folder; return what a crash could have left of it since then, as `WatchedFolder.look` does."""
        if self._last is not None or self._watched is None:
            return self._last or []
        return self._watched.look()

    def call(self, *arguments: object, steps: bool = False) -> Answer:
        """Call the entry with the folder's path and `arguments`; with `steps`, also with a function `step`.

        The `Answer` is of the kind "step" where that was called, with two whole numbers: its `value`; of the kind
        "ended" where the sandbox ended by itself. Raises Stopped.
        """
        question = {"entry": self._exercise.entry, "drive": None, "files": {}, "evidence": self._kind.plan()}
        more = {"folder": self._folder, "arguments": arguments, "steps": STEP.plan() if steps else None}
        return self._exchanged(question | more)

    def step(self, answer: Mapping[str, object]) -> Answer:
        """Answer the last step, by {"state": …} or {"error": why}; return what comes then, as `call` does."""
        return self._exchanged(dict(answer))

    def warn(self) -> None:
        """Send SIGTERM to the process that the answer runs in."""
        self._submission.running.warn()

    def _exchanged(self, message):
        try:
            return self._submission.exchange(pack(message), self._exercise.seconds, self._kind, STEP)
        except Stopped:
            if self._submission.ended.limit not in (None, "silent"):
                raise
            return Answer("ended", text="it ended the Python that ran it")

    def _look_last(self):
        if self._last is None and self._watched is not None:
            try:
                self._last = self._watched.look()
            except TooMuch:  # said to whoever looks
                self._last = None

    def _forget(self):
        if self._watched is not None:
            self._watched.__exit__()
        self._watched = None
