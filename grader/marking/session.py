"""Talking with a submission in its sandbox: set it up, let it run its cells, ask it, and read evidence of one kind.

One question at a time, each with a deadline for the whole answer. What can't be read as the evidence asked for ends the
talk: from then on nobody knows where in the bytes we are.
"""

import json
import os
import struct
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from grader.inside.wire import pack
from grader.marking.companion import Neighbour
from grader.marking.result_types import Malformed
from grader.sandbox import Profile, SandboxStopped
from grader.sandbox.effort import effort
from grader.sandbox.errors import SENTENCES
from grader.sandbox.visible import ROOT, visible_files

IMPORTS = 60.0  # seconds for the lab's imports on a busy machine; torch takes two on an idle one
TEXT = 4096
REPORT = 65536
MOST = 128 * 1024 * 1024  # bytes of one answer, whatever its kinds allow together
INSIDE = Path(__file__).parents[1] / "inside"


class SetUpFailed(RuntimeError):
    """The sandbox came up and our own part in it failed, before any line of the student's: a mistake of ours."""


class Stopped(Exception):
    """The submission can't answer any more. `state`: "timed_out" or "crashed"; `cell`: the cell that was running."""

    def __init__(self, state, why, cell=None):
        super().__init__(why)
        self.state, self.why, self.cell = state, why, cell


@dataclass(frozen=True)
class Answer:
    """What came back: `value` when `kind` is "value", else `text` says what was wrong.

    `kind`: "value", "raised", "other kind" or "absent". `seconds` from the question to the last byte, for a race
    without what the machine's other work made it queue (`sandbox.effort`).
    """

    kind: str
    value: object = None
    text: str = ""
    seconds: float = 0.0


class Talk:
    """A submission in its sandbox. Use it in a `with`; `errors` holds its cells' errors, by number, once they ran."""

    def __init__(self, lab, cells, sandbox, seconds):
        """`cells`: texts to run; `sandbox`: `Sandbox`, or the like; `seconds`: the most for the whole talk."""
        self._lab, self._patience = lab, patience()
        seconds *= self._patience
        self._running = sandbox(_profile(lab, seconds)).start(_program("wire", "cells", "shown_only", "serve"))
        self._beside = Neighbour(sandbox, _program("wire", "cells", "shown_only", "serve", "host"), seconds)
        self._cells = list(cells)
        self.errors = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._beside.close()
        finally:
            self._running.close()

    @property
    def ended(self):
        """How the sandbox ended (`sandbox.Ended`); None before."""
        return self._running.ended

    def run_cells(self):
        """Set up and run all cells; raises SetUpFailed, or Stopped with the cell that hung or ended everything."""
        files = {name: (self._lab.folder / name).read_bytes() for name in self._lab.files}
        setup = {"cells": self._cells, "files": files, "imports": list(self._lab.imports)}
        current, deadline = None, time.monotonic() + IMPORTS
        try:
            self._send(pack(setup), deadline)
            while (event := self._receive(1, deadline)) == b"c":
                if current is None:
                    deadline = time.monotonic() + self._lab.seconds * self._patience
                current = struct.unpack("<I", self._receive(4, deadline))[0]
            if event == b"i" and current is None:
                raise SetUpFailed(self._text(TEXT, deadline))
            if event != b"r":
                raise Malformed(f"{event!r} where a cell was to begin")
            self.errors = _report(self._text(REPORT, deadline))
        except SandboxStopped as stopped:
            if current is None and self._cells:
                raise SetUpFailed(f"{stopped.ended}: {stopped.ended.stderr.strip()[-500:]}") from None
            raise self._stopped(stopped, current) from None
        except Malformed as problem:
            raise Stopped("crashed", f"something other than the notebook wrote to its grader: {problem}") from None

    def ask(self, exercise, case):
        """Return the `Answer` of `exercise` to `case`; raises Stopped when none can come any more."""
        if exercise.host is not None:
            try:
                return self._beside.ask(exercise, case, self._running, self._ask)
            except SandboxStopped as stopped:
                raise self._stopped(stopped) from None
        return self._ask(exercise, case, exercise.kind(case))

    def _ask(self, exercise, case, kind):
        looks = self._running.look if exercise.race is not None else _not_looked
        before, started = looks(), time.monotonic()
        deadline = started + exercise.seconds * self._patience
        try:
            self._send(_request(exercise, case, kind), deadline)
            status = self._receive(1, deadline)
            if status == b"v":
                value = self._read(kind, deadline)
                seconds = time.monotonic() - started
                return Answer("value", value, seconds=effort(before, looks(), seconds))
            if status not in KINDS:
                raise Malformed(f"{status!r} where an answer was to begin")
            return Answer(KINDS[status], text=self._text(TEXT, deadline), seconds=time.monotonic() - started)
        except SandboxStopped as stopped:
            raise self._stopped(stopped) from None
        except Malformed as problem:
            raise Stopped("crashed", f"it gave {problem}, where {kind.describe()} was asked for") from None

    def _read(self, kind, deadline):
        try:
            return kind.read(_bounded(lambda count: self._receive(count, deadline)))
        except (ValueError, OverflowError, MemoryError) as problem:
            raise Malformed(str(problem) or "more than can be held") from None

    def _stopped(self, stopped, cell=None):
        ended = stopped.ended
        if ended.limit in ("time", "cpu"):
            return Stopped("timed_out", "it did not come to an end in time", cell)
        # without the seconds that it took: marked again, it is told the same
        ended_itself = ended.limit in (None, "silent", "closed")
        why = "it ended the Python that ran it" if ended_itself else SENTENCES[ended.limit]
        return Stopped("crashed", why, cell)

    def _send(self, message, deadline):
        self._running.send(struct.pack("<Q", len(message)) + message, _left(deadline))

    def _receive(self, count, deadline):
        if time.monotonic() > deadline:  # who writes without end is always ready to be read
            self._running.stop("time")
            raise SandboxStopped(self._running.close())
        return self._running.receive(count, _left(deadline)) if count else b""

    def _text(self, limit, deadline):
        (length,) = struct.unpack("<I", self._receive(4, deadline))
        if length > limit:
            raise Malformed(f"a text of {length} bytes; the limit is {limit}")
        return self._receive(length, deadline).decode("utf-8", "replace")


#: The first byte of an answer that isn't evidence.
KINDS = {b"e": "raised", b"k": "other kind", b"a": "absent"}


def _not_looked():
    return None


def patience():
    """Return by what deadlines are stretched, 1 to 4: a machine that does other things is no reason to lose marks."""
    return min(4.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))) if hasattr(os, "getloadavg") else 1.0


def _bounded(read, most=MOST):
    """Return `read` with a budget: lists of arrays may each keep to their limit and be too much together."""
    left = most

    def within(count):
        nonlocal left
        left -= count
        if left < 0:
            raise Malformed(f"more than {most} bytes in all")
        return read(count)

    return within


def _left(deadline):
    return max(0.0, deadline - time.monotonic())


def _profile(lab, seconds):
    files = visible_files(tuple(lab.modules), tuple(lab.masked))
    network = "loopback" if any(e.host is not None for e in lab.exercises) else "none"
    return Profile(seconds=seconds, memory=lab.memory, files=files, path=(ROOT,), network=network)


@lru_cache(maxsize=2)
def _program(*names):
    """Return the program that a sandbox runs: these files of `inside/` as one text; the last one has its `main`."""
    sources = {name: (INSIDE / f"{name}.py").read_text(encoding="utf-8") for name in names}
    return f"""\
import sys, types
package = sys.modules["inside"] = types.ModuleType("inside")
package.__path__ = []
for name, source in {sources!r}.items():
    module = sys.modules["inside." + name] = types.ModuleType("inside." + name)
    module.__package__ = "inside"
    exec(compile(source, f"<inside/{{name}}>", "exec"), module.__dict__)
module.main(REQUESTS, EVIDENCE)
"""


def _request(exercise, case, kind):
    arguments = tuple(case.arguments)
    return pack(
        {
            "entry": exercise.entry,
            "arguments": _tensors(arguments) if exercise.tensors else arguments,
            "drive": exercise.call,
            "files": dict(case.files),
            "evidence": kind.plan(),
        }
    )


def _tensors(value):
    """Return `value` with each numpy array marked as one that becomes a torch tensor inside."""
    if isinstance(value, np.ndarray):
        return AsTensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_tensors(one) for one in value)
    return {key: _tensors(one) for key, one in value.items()} if isinstance(value, dict) else value


@dataclass(frozen=True)
class AsTensor:
    """An array that becomes a torch tensor in the sandbox; made here without torch."""

    array: np.ndarray

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array


def _report(text):
    try:
        return {int(number): str(error)[:600] for number, error in json.loads(text)}
    except (ValueError, TypeError, RecursionError):
        return {}  # a forged report: only what the student is told would come from it
