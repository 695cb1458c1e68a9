"""Asking a submission in its sandbox: set it up, let it run its cells, ask it, and read evidence of one kind.

One question at a time, each with a deadline for the whole answer. Bytes that are no such evidence end the reading:
nobody knows where among them the next answer would begin.
"""

import itertools
import json
import os
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from grader.inside.values import AsTensor, pack
from grader.lab.spec import Case, Lab, Marking
from grader.marking.bounds import OutOfBounds
from grader.marking.companion import Companion
from grader.marking.messages import Answer, Messages, Stopped
from grader.marking.outside import called_outside
from grader.marking.result_types import Kind, Malformed
from grader.sandbox import Profile, SandboxStopped
from grader.sandbox.errors import SENTENCES, Ended
from grader.submission.visible_course import ROOT, visible_files

IMPORTS = 60.0  # seconds for the lab's imports on a busy machine; torch takes two on an idle one
REPORT = 65536
INSIDE = Path(__file__).parents[1] / "inside"
SUBMISSION = ("values", "cells", "stand_ins", "serve")  # files of it


class SetUpFailed(RuntimeError):
    """The sandbox came up and the grader's own part in it failed, before any line of the student's."""


class SandboxedSubmission:
    """A submission in its sandbox. Use it in a `with`; `errors` holds its cells' errors, by number, once they ran."""

    def __init__(self, lab: Lab, cells: Iterable[str], sandbox: Callable, seconds: float) -> None:
        """`cells`: texts to run; `sandbox`: `Sandbox`, or the like; `seconds`: the most for what is asked."""
        self._lab, self._patience = lab, patience()
        cells, self.numbers = list(cells), itertools.count()  # of folders that are laid
        self.another = lambda: SandboxedSubmission(lab, cells, sandbox, seconds)  # the same, in a sandbox of its own
        self._start(lab, cells, sandbox, (IMPORTS + lab.seconds + seconds) * self._patience)

    def _start(self, lab, cells, sandbox, seconds):
        self.running = sandbox(_profile(lab, seconds)).start(_program(*SUBMISSION))
        self._messages = Messages(self.running)
        self._companion = Companion(sandbox, _program(*SUBMISSION, "links", "host"), seconds)
        self._cells = cells
        self.errors: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._companion.close()
        finally:
            self.running.close()

    @property
    def ended(self) -> Ended | None:
        """How the sandbox ended (`sandbox.Ended`); None before."""
        return self.running.ended

    def run_cells(self) -> None:
        """Set up and run all cells; raises SetUpFailed, or Stopped with the cell that hung or ended everything."""
        files = {name: (self._lab.folder / name).read_bytes() for name in self._lab.files}
        setup = {"cells": self._cells, "files": files, "imports": list(self._lab.imports)}
        current, deadline = None, time.monotonic() + IMPORTS
        try:
            self._messages.send(pack(setup), deadline)
            while (event := self._messages.receive(1, deadline)) == b"c":
                if current is None:
                    deadline = time.monotonic() + self._lab.seconds * self._patience
                (current,) = struct.unpack("<I", self._messages.receive(4, deadline))
            if event == b"i" and current is None:
                raise SetUpFailed(self._messages.text(deadline))
            if event != b"r":
                raise Malformed(f"{event!r} where a cell was to begin")
            self.errors = _report(self._messages.text(deadline, REPORT))
        except SandboxStopped as stopped:
            if current is None and self._cells:
                raise SetUpFailed(f"{stopped.ended}: {stopped.ended.stderr.strip()[-500:]}") from None
            raise self._stopped(stopped, current) from None
        except Malformed as problem:
            raise Stopped("crashed", f"something other than the notebook wrote to its grader: {problem}") from None

    def ask(self, exercise: Marking, case: Case) -> Answer:
        """Return the `Answer` of `exercise` to `case`; raises Stopped when none can come any more."""
        if exercise.host is not None:
            try:
                return self._companion.ask(exercise, case, self.running, self._ask)
            except SandboxStopped as stopped:
                raise self._stopped(stopped) from None
        if exercise.outside is not None:
            return called_outside(self, exercise, case)
        return self._ask(exercise, case, exercise.kind(case))

    def _ask(self, exercise, case, kind):
        used = self.running.processor_seconds if exercise.race is not None else lambda: None
        before, started = used(), time.monotonic()
        answer = self.exchange(_request(exercise, case, kind), exercise.seconds, kind)
        seconds, after = time.monotonic() - started, used()
        return replace(answer, seconds=seconds if None in (before, after) else after - before)

    def exchange(self, message: bytes, seconds: float, kind: Kind, steps: Kind | None = None) -> Answer:
        """Send a `message` and return the `Answer`, of `kind`, or of `steps` where it asks for one; raises Stopped."""
        deadline = time.monotonic() + seconds * self._patience
        try:
            self._messages.send(message, deadline)
            status = self._messages.receive(1, deadline)
            if status == b"v":
                return Answer("value", self._messages.value(kind, deadline))
            if status == b"s" and steps is not None:
                return Answer("step", self._messages.value(steps, deadline))
            if status == b"l" and steps is not None:
                return Answer("laid")
            if status not in KINDS:
                raise Malformed(f"{status!r} where an answer was to begin")
            return Answer(KINDS[status], text=self._messages.text(deadline))
        except SandboxStopped as stopped:
            raise self._stopped(stopped) from None
        except OutOfBounds as problem:  # read to its end: the next answer begins where this one ends
            return Answer("other kind", text=str(problem))
        except Malformed as problem:
            raise Stopped("crashed", f"it gave {problem}, where {kind.describe()} was asked for") from None

    def _stopped(self, stopped, cell=None):
        ended = stopped.ended
        if ended.limit in ("time", "cpu"):
            return Stopped("timed_out", "it did not come to an end in time", cell)
        # without its seconds: marked again, the reason is the same
        ended_itself = ended.limit in (None, "silent", "closed")
        why = "it ended the Python that ran it" if ended_itself else SENTENCES[ended.limit]
        return Stopped("crashed", why, cell)


#: The first byte of an answer that isn't evidence.
KINDS = {b"e": "raised", b"k": "other kind", b"a": "absent"}


def patience() -> float:
    """Return the factor, 1 to 4, by which deadlines are stretched: a busy machine is no reason to lose marks."""
    return min(4.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))) if hasattr(os, "getloadavg") else 1.0


def _profile(lab, seconds):
    files = visible_files(tuple(lab.modules), tuple(lab.masked))
    network = "loopback" if any(e.host is not None for e in lab.exercises) else "none"
    return Profile(seconds=seconds, memory=lab.memory, files=files, path=(ROOT,), network=network)


@cache
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
    question = {"entry": exercise.entry, "drive": exercise.call, "files": dict(case.files), "evidence": kind.plan()}
    question |= {"folder": None, "steps": None}
    return pack({**question, "arguments": _tensors(arguments) if exercise.statement.tensors else arguments})


def _tensors(value):
    """Return `value` with each numpy array marked as one that becomes a torch tensor inside."""
    if isinstance(value, np.ndarray):
        return AsTensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_tensors(item) for item in value)
    return {key: _tensors(item) for key, item in value.items()} if isinstance(value, dict) else value


def _report(text):
    try:
        return {int(number): str(error)[:600] for number, error in json.loads(text)}
    except (ValueError, TypeError, RecursionError):
        return {}  # forged; the report only changes what the student reads
