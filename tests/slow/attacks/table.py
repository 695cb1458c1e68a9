"""Marking submissions of a table one by one, each with the host watched, and telling what was not as it must be."""

import hashlib
import time
from dataclasses import dataclass

from grader.marking.mark import mark_submission
from grader.sandbox import Sandbox
from tests.helpers.sandboxes import outside
from tests.slow.attacks.host_watch import TREASURE, complaints, decoys

SECRET = b"of the tests that attack marking"


@dataclass(frozen=True)
class Outcome:
    """What one submission gave: `complaints` in words, none when all was right; `marks`, and `seconds` it took."""

    name: str
    complaints: tuple[str, ...]
    marks: object
    seconds: float


def marked(submission, folder, sandbox=Sandbox):
    """Mark `submission` in real sandboxes, with decoys under `folder`; return the `Outcome`."""
    started, lab = time.monotonic(), submission.lab_for()
    with decoys(folder) as host:
        data = submission.bytes(host)
        secret = hashlib.sha256(SECRET + data).digest()
        before = outside()
        marks = mark_submission(lab, data, secret, sandbox)
        problems = [*complaints(host, before), *_of_marks(submission, lab, marks)]
    return Outcome(submission.name, tuple(problems), marks, time.monotonic() - started)


def _of_marks(submission, lab, marks):
    wanted = submission.wanted(lab)
    for mark in marks.exercises:
        if abs(mark.score - wanted[mark.name]) > 1e-6:
            kind = "UNDESERVED" if mark.score > wanted[mark.name] else "LOST"
            got = f"{mark.name} got {mark.score:g}, not {wanted[mark.name]:g}"
            yield f"{kind}: {got}: {mark.state}, {mark.reason[:300]}"
        state = submission.states.get(mark.name, submission.states.get("*", mark.state))
        if mark.state != state:
            yield f"{mark.name} is {mark.state}, not {state}: {mark.reason[:300]}"
        if mark.state == "grader_failed":
            yield f"{mark.name}: our side failed: {mark.reason[:300]}"
        if any(not (sign.isprintable() or sign == "\n") for sign in mark.reason):
            yield f"{mark.name}: its reason holds what can't be shown: {mark.reason[:100]!r}"
    if "ESCAPED" in marks.log:
        yield f"it got out: {marks.log[marks.log.index('ESCAPED') :][:200]}"
    if TREASURE in marks.log or TREASURE in repr(marks.exercises):
        yield "it read a decoy"
