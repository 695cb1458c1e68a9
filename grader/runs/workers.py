"""Marking many submissions with several processes of the grader's own: one that dies or hangs costs one mark, no more.

Each process loads the lab once and marks one submission after another; students' code runs in neither it nor here, but
in the sandboxes that it makes. Pebble replaces one that ends or takes too long; the submission that it had is
a `grader_failed`, to be marked again.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass

from pebble import ProcessExpired, ProcessPool

from grader.lab.source import load_lab
from grader.lab.spec import Lab
from grader.marking.mark import Marks, mark_submission, unasked
from grader.sandbox import Profile, Sandbox, SandboxUnavailable

#: Submissions after which a process is replaced: whatever a library keeps, memory stays flat.
LIFE = 100
ENDS = 20.0  # seconds for the processes to end; what they started dies with them


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
            yield task, _marks_of(_marked(lab, task.data, task.secret, sandbox, mark), lab)
        return
    # at the very most each exercise hangs in turn
    limit = (2 * len(lab.exercises) + 6) * (lab.seconds + 30) if seconds is None else seconds
    # spawned, not forked: a fork would take over locks and threads of the numerical libraries
    spawned = multiprocessing.get_context("spawn")
    pool = ProcessPool(jobs, LIFE, initializer=_begin, initargs=(lab.folder, lab.source), context=spawned)
    waiting, tasks_of = iter(tasks), dict[Future, Task]()
    try:
        while True:
            while len(tasks_of) < jobs and (following := next(waiting, None)) is not None:
                work = (following.data, following.secret, sandbox, mark)
                tasks_of[pool.schedule(_work, args=work, timeout=limit)] = following
            if not tasks_of:
                return
            for done in wait(tasks_of, return_when=FIRST_COMPLETED).done:
                yield tasks_of.pop(done), _marks_of(_outcome(done), lab)
    finally:
        pool.stop()
        pool.join(ENDS)


def failed(lab: Lab, why: str) -> Marks:
    """Return the `Marks` of a submission for which the grader failed: no mark, never a zero."""
    return unasked(lab, "grader_failed", f"Our side failed, mark it again: {why}.")


def _outcome(done):
    """Return a process's `Marks` or exception, or a sentence where it returned nothing."""
    try:
        return done.result()
    except TimeoutError:
        return "it took longer than any submission can"
    except ProcessExpired as ended:
        return f"the process that marked it ended (exit status {ended.exitcode})"


def _marks_of(outcome, lab):
    """Return the `Marks` that are the `outcome`, or those of our failure where it is a sentence."""
    if isinstance(outcome, SandboxUnavailable):
        raise outcome
    return failed(lab, outcome) if isinstance(outcome, str) else outcome


_lab: Lab | str = "no lab was loaded"  # of a process that marks


def _begin(folder, source):
    global _lab
    try:
        _lab = load_lab(folder, source)
    except Exception as error:  # of the lab's own marking.py, which may raise anything
        _lab = f"the lab can't be loaded: {type(error).__name__}: {error}"


def _work(data, secret, sandbox, mark):
    return _lab if isinstance(_lab, str) else _marked(_lab, data, secret, sandbox, mark)


def _marked(lab, data, secret, sandbox, mark):
    try:
        return mark(lab, data, secret, sandbox)
    except SandboxUnavailable as problem:
        # one sandbox that did not come up costs one mark; where none comes up, nobody can be marked
        return f"no sandbox came up: {problem}" if _comes_up(sandbox) else SandboxUnavailable(str(problem))
    except Exception as error:  # the lab's code, nbformat's, ours: it must cost one mark and not the class's
        return failed(lab, f"{type(error).__name__}: {error}")


def _comes_up(sandbox):
    try:
        sandbox(Profile(seconds=20)).start("pass").close()
    except SandboxUnavailable:
        return False
    return True
