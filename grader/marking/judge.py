"""Judging an answer's value in a process of its own, with a limit of memory and an alarm.

The judge is the lab's and the value is the student's. Where the two together fail (it raises, it wants a gigabyte, it
finds no end), the lab's own solution is judged on the same question: a judge that manages that one is sound, and the
answer is wrong; one that doesn't is the lab's mistake, and nobody's zero.
"""

import os
import signal
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, Self

import numpy as np

from course.checks.compare import show
from grader.inside.values import named
from grader.lab.spec import Case, Lab, Marking
from grader.marking.questions import Answer, SandboxedSubmission, SetUpFailed, Stopped, patience
from grader.submission.rebuild import imports_needed

SECONDS = 20.0  # for one answer; a judge takes hundredths of one
MEMORY = 1 << 30  # bytes that judging may take, beyond what the grader has itself
MANY = 1000  # elements of an array; of more than these it is said how many there are


class JudgeFailed(Exception):
    """A judge that came to no verdict; the text says how, such as "raised KeyError: 'twice'"."""


class NotJudged(Exception):
    """A value at which a sound judge failed: a wrong answer. The text is what is said of it."""


class Judge:
    """Judges the answers to one lab. Use it in a `with`, from one thread at a time: its end ends the process."""

    def __init__(self, lab: Lab, sandbox: Callable) -> None:
        """`sandbox`: as for `SandboxedSubmission`, for the lab's own solution."""
        self.lab, self._sandbox = lab, sandbox
        self._process: _Process | None = None
        self._sound: set[str] = set()  # exercises whose judge was seen to manage the lab's own solution

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def problem(self, exercise: Marking, case: Case, answer: Answer) -> str | None:
        """Return None when `answer` is right, else what is said of it: the question, what came, what was expected.

        Raises NotJudged where the judge fails at the answer's value, and JudgeFailed where it does so at the lab's own
        solution too.
        """
        question = exercise.statement.question(case)
        if answer.kind == "raised":
            return f"{question} raised {answer.text}"
        if answer.kind == "other kind":
            return f"{question} gave {answer.text}, where {exercise.kind(case).describe()} is asked for"
        try:
            complaint = self.complaint(exercise, case, answer.value)
        except JudgeFailed as failure:
            if not self._is_sound(exercise, case):
                raise
            raise NotJudged(f"{question} gave {_shown(answer.value)}; judging it {failure}") from None
        return None if complaint is None else f"{question} gave {_shown(answer.value)}; {complaint}"

    def complaint(self, exercise: Marking, case: Case, value: Any) -> str | None:
        """Return None when `value` is right for `case`, else a sentence. Raises JudgeFailed."""
        self._process = self._process or _Process(self.lab)
        try:
            is_verdict, complaint = self._process.ask(exercise.name, case, value)
        except JudgeFailed:
            self._end()
            raise
        if not is_verdict:
            raise JudgeFailed(complaint)
        return complaint

    def _is_sound(self, exercise, case):
        if exercise.name not in self._sound and self._manages_the_solution(exercise, case):
            self._sound.add(exercise.name)
        return exercise.name in self._sound

    def _manages_the_solution(self, exercise, case):
        cells = [c.solution for c in self.lab.source.cells if c.type == "code" and c.role in ("given", "exercise")]
        cells = [*imports_needed(self.lab, cells), *cells]
        try:
            with SandboxedSubmission(self.lab, cells, self._sandbox, exercise.seconds) as solution:
                solution.run_cells()
                answer = solution.ask(exercise, case)
            self.complaint(exercise, case, answer.value)
        except (SetUpFailed, Stopped, JudgeFailed):
            return False
        return answer.kind == "value"

    def _end(self):
        if self._process is not None:
            self._process.kill()
            self._process = None


class _Process:
    """A copy of this process that judges until it is killed: a fork, since a lab's judges are functions.

    What crosses its pipe is the grader's own, so it is pickled.
    """

    def __init__(self, lab):
        self._pipe, theirs = Pipe()
        with warnings.catch_warnings():
            # from Python 3.12 on: a thread that watches a sandbox may run; it holds no lock that judging needs
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            try:
                _judge(lab, theirs)
            finally:
                os._exit(os.EX_OK)  # the grader's exit hooks are the grader's
        theirs.close()

    def ask(self, name, case, value):
        seconds = SECONDS * patience()
        try:
            self._pipe.send((name, case, value, seconds))
            if self._pipe.poll(seconds):
                return self._pipe.recv()
        except (OSError, EOFError):
            raise JudgeFailed("ended the process that judges") from None
        raise JudgeFailed(f"took longer than {SECONDS:g} s")

    def kill(self):
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._pipe.close()


def _judge(lab, pipe):
    """Judge, in the forked process, until the grader is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which ends this one
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # a sandbox's pipes, and the lock on its user, are given back when the grader closes them
    os.closerange(3, pipe.fileno())
    os.closerange(pipe.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    _limit_memory()
    while True:
        name, case, value, seconds = pipe.recv()
        signal.setitimer(signal.ITIMER_REAL, seconds + 1.0)  # should the grader be killed meanwhile
        verdict = _verdict(lab, name, case, value)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        pipe.send(verdict)


def _limit_memory():
    """Let this process have `MEMORY` more than it has: beyond that, what asks for it gets a MemoryError."""
    with suppress(OSError):  # where the kernel doesn't say, the alarm is what there is
        has = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData:"))
        most = (int(has.split()[1]) << 10) + MEMORY
        import resource  # not on Windows, where this file must still import

        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _verdict(lab, name, case, value):
    """Return (whether there is a verdict, it or what went wrong)."""
    exercise = lab.exercise(name)
    try:
        complaint = exercise.statement.complaint(case, value)
    except BaseException as failure:  # a lab's judge or oracle may raise anything, SystemExit too
        return False, f"raised {type(failure).__name__}: {str(failure)[:MANY]}{_place(lab, failure)}"
    if complaint is None or isinstance(complaint, str):
        return True, complaint
    return False, f"gave {named(complaint)} where a sentence or None was due"


def _place(lab, failure):
    """Return the line of the lab's own folder in which it was raised, in brackets."""
    frames = traceback.extract_tb(failure.__traceback__)
    own = [frame for frame in frames if lab.folder and Path(frame.filename).parent == Path(lab.folder)]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _shown(value):
    text = show(value)
    return f"{text}, {value.size} elements" if isinstance(value, np.ndarray) and value.size > MANY else text
