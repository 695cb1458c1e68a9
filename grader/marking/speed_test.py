"""A speed as a ratio, timed outside: the lab's reference and a submission, each alone in a sandbox, asked the same.

Each question is made from the answer to the one before and from fresh noise, so nothing can be worked out ahead; each
answer is judged, so a fast wrong one is wrong. Both sides pay the same for the pipe. The reference goes before and
after, never while the submission's sandbox is there: one that keeps the machine busy slows only itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from course.checks.compare import equal, show
from course.checks.exercise import Case
from grader.lab.spec import Lab, Marking
from grader.marking.questions import SandboxedSubmission, Stopped


def race(
    lab: Lab, cells: Sequence[str], exercise: Marking, case: Case, sandbox: Callable, draw: np.random.Generator
) -> str | None:
    """Return None when the submission (`cells`: texts) is fast enough, else a sentence; it starts from `case`.

    Where the kernel counts it, queueing for a processor is no part of a lap (`sandbox/usage.py`). What else a machine
    does only adds to a lap's seconds, so the quickest lap of each side comes nearest to the truth.
    Raises Stopped as `SandboxedSubmission` does, and RuntimeError when the reference fails: the lab's mistake.
    """
    terms = exercise.race
    assert terms is not None  # only such an exercise comes here
    laps = _reference(lab, exercise, case, sandbox, draw)
    submitted, referenced = [], [wanted.seconds for _, wanted in laps]
    for _ in range(terms.tries):
        with SandboxedSubmission(lab, cells, sandbox, _seconds(lab, exercise)) as submission:
            submission.run_cells()
            for question, wanted in laps:
                got = submission.ask(exercise, question)
                complaint = _complaint(exercise, question, got, wanted)
                if complaint is not None:
                    return f"in the race, {exercise.statement.question(question)} is wrong: {complaint}"
                submitted.append(got.seconds)
        # again afterwards: if the machine was busy with other things only before, that must not win the race; no
        # one has seen these questions, so they are the next try's, too
        laps = _reference(lab, exercise, case, sandbox, draw)
        referenced += [wanted.seconds for _, wanted in laps]
        ratio = min(referenced) / min(submitted)
        if ratio >= terms.times:
            return None
    return f"it is {ratio:.2g} times as fast as the reference; {terms.times:g} times is asked for"


def _reference(lab, exercise, case, sandbox, draw):
    """Return the questions of one race, each with the reference's `Answer`."""
    laps, cells = [], [exercise.race.reference]
    with SandboxedSubmission(replace(lab, files=()), cells, sandbox, _seconds(lab, exercise)) as reference:
        _answered(reference.run_cells)
        for _ in range(exercise.race.rounds):
            laps.append((case, _answered(reference.ask, exercise, case)))
            made = exercise.race.chain(draw, laps[-1][1].value)
            case = made if isinstance(made, Case) else replace(case, arguments=tuple(made))
    return laps


def _complaint(exercise, case, got, wanted):
    if got.kind != "value":
        return got.text
    if exercise.statement.judge or exercise.statement.accepts:
        return exercise.statement.complaint(case, got.value)
    # no student's line ran where the reference did: its answer is as good as the oracle's, and sooner there
    return None if equal(got.value, wanted.value, exercise.statement.tolerance) else f"expected {show(wanted.value)}"


def _seconds(lab, exercise):
    return lab.seconds + 60 + 2 * exercise.race.rounds * exercise.seconds


def _answered(call, *arguments):
    try:
        answer = call(*arguments)
    except Stopped as stopped:
        raise RuntimeError(f"the race's reference stopped: {stopped.why}") from None
    if answer is not None and answer.kind != "value":
        raise RuntimeError(f"the race's reference gave no value: {answer.kind}, {answer.text}")
    return answer
