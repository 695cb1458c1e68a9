"""Marking many submissions with several processes of the grader's own: one that dies or hangs costs one mark, no more.

Each worker loads the lab once and marks one submission after another; what a student wrote runs in neither it nor here,
but in the sandboxes that it makes. A worker that ends, or doesn't answer, is replaced, and what it had is a
`grader_failed`, to be marked again.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait

from grader.lab.source import load_lab
from grader.lab.spec import Lab
from grader.marking.mark import Marks, mark_submission, unasked
from grader.sandbox import Profile, Sandbox, SandboxUnavailable

#: Submissions after which a worker is replaced: whatever a library keeps, memory stays flat.
LIFE = 100
START = 600.0  # seconds in which a worker must have loaded the lab; seconds of it are spent on imports


@dataclass(frozen=True)
class Task:
    """One submission to mark: `data` its bytes, `secret` that of its grading; `key` is the caller's."""

    key: object
    data: bytes
    secret: bytes


def mark_all(
    lab: Lab,
    tasks: Iterable[Task],
    jobs: int = 1,
    sandbox: Callable = Sandbox,
    mark: Callable = mark_submission,
    seconds: float | None = None,
) -> Iterator[tuple[Task, Marks]]:
    """Yield (task, `Marks`) as they are made. `tasks`: any iterable of `Task`, read as workers become free.

    `lab` is as `load_lab` gives it. `jobs`: how many processes; 0 marks in this one, where nothing can be given up.
    `seconds`: after so many a submission is given up, by default what a lab can need at the very most. Raises
    SandboxUnavailable when a worker finds that none can be made.
    """
    if jobs == 0:
        for task in tasks:
            yield task, _told(_marked(lab, task.data, task.secret, sandbox, mark), lab)
        return
    # at the very most each exercise hangs in turn
    limit = (2 * len(lab.exercises) + 6) * (lab.seconds + 30) if seconds is None else seconds
    waiting = iter(tasks)
    workers: list[_Worker] = []
    try:
        while True:
            while len(workers) < jobs and (first := next(waiting, None)) is not None:
                workers.append(_Worker(lab, sandbox, mark))
                workers[-1].give(first, START)
            if not workers:
                return
            for worker in _answered(workers):
                task, marks = worker.task, worker.take(limit)
                if marks is None:
                    continue  # it has loaded the lab and begins
                following = next(waiting, None) if not worker.broken and worker.count < LIFE else None
                if following is not None:
                    worker.give(following, limit)
                else:
                    workers.remove(worker)
                    worker.close()
                yield task, marks
    finally:
        for worker in workers:
            worker.close()


def failed(lab: Lab, why: str) -> Marks:
    """Return the `Marks` of a submission for which the grader failed: no mark, never a zero."""
    return unasked(lab, "grader_failed", f"Our side failed, mark it again: {why}.")


def _answered(workers):
    """Wait, and return the workers that have answered, have ended or are overdue."""
    patience = max(0.0, min(worker.deadline for worker in workers) - time.monotonic())
    ready = set(wait([handle for worker in workers for handle in (worker.pipe, worker.sentinel)], patience))
    overdue = time.monotonic()
    return [w for w in workers if w.pipe in ready or w.sentinel in ready or w.deadline <= overdue]


class _Worker:
    """One process that marks. `task` is what it has, `deadline` until when."""

    def __init__(self, lab, sandbox, mark):
        self.lab, self.task, self.deadline, self.count, self.broken = lab, None, 0.0, 0, False
        # spawned, not forked: a fork would take over locks and threads of the numerical libraries
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, lab.folder, lab.source, sandbox, mark), daemon=True)
        self._process.start()
        theirs.close()
        self.sentinel = self._process.sentinel

    def give(self, task, limit):
        self.task, self.count, self.deadline = task, self.count + 1, time.monotonic() + limit
        try:
            self.pipe.send((task.data, task.secret))
        except OSError:
            self.broken = True  # it has ended: `take` says so

    def take(self, limit):
        """Return the marks of its task, or those of a failure; None when it has only just begun."""
        try:
            if not self.broken and self.pipe.poll():
                told = self.pipe.recv()
                if told is None:
                    self.deadline = time.monotonic() + limit
                    return None
                self.task = None
                return _told(told, self.lab)
        except (EOFError, OSError):
            pass
        overdue = time.monotonic() >= self.deadline and not self.broken
        self.broken = True
        if overdue:
            return failed(self.lab, "it took longer than any submission can")
        self._process.join(5)
        return failed(self.lab, f"the process that marked it ended (exit status {self._process.exitcode})")

    def close(self):
        self.pipe.close()
        if self.broken or self.task is not None:
            self._process.kill()
        self._process.join(20)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _told(told, lab):
    """Return the `Marks` that a worker told, which may have told why there are none."""
    if isinstance(told, SandboxUnavailable):
        raise told
    return failed(lab, told) if isinstance(told, str) else told


def _work(pipe, folder, source, sandbox, mark):
    """Mark what comes until the other end is closed. Runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that hands out the work
    lab, problem = None, None
    try:
        lab = load_lab(folder, source)
    except Exception as error:
        problem = f"the lab can't be loaded: {type(error).__name__}: {error}"
    try:
        pipe.send(None)
        while True:
            data, secret = pipe.recv()
            pipe.send(_marked(lab, data, secret, sandbox, mark) if lab else problem)
    except (EOFError, OSError):
        return  # no one waits for it any more


def _marked(lab, data, secret, sandbox, mark):
    try:
        return mark(lab, data, secret, sandbox)
    except SandboxUnavailable as problem:
        # one that did not come up costs one mark; where none comes up, no one is to be marked
        return f"no sandbox came up: {problem}" if _comes_up(sandbox) else SandboxUnavailable(str(problem))
    except Exception as error:  # whatever it is: it must cost one mark and not the class's
        return failed(lab, f"{type(error).__name__}: {error}")


def _comes_up(sandbox):
    try:
        sandbox(Profile(seconds=20)).start("pass").close()
    except SandboxUnavailable:
        return False
    return True
