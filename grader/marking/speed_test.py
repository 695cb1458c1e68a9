"""A speed as a ratio, measured outside: the lab's reference and a submission, each alone in a sandbox, asked the same.

Both are compared in processor time, of all processes and threads of a sandbox together, as the kernel counts it. A busy
machine doesn't lengthen it, and work that is spread over processes, on however many processors, behind decoys or under
another policy, is counted all the same. Where the kernel doesn't count it for us, the clock decides.

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
from grader.marking.judge import Judge
from grader.marking.questions import SandboxedSubmission, Stopped


class WrongInRace(Exception):
    """An answer of a race was wrong, in whichever lap: that loses the whole exercise. The text says how."""


def race(
    lab: Lab,
    cells: Sequence[str],
    exercise: Marking,
    case: Case,
    sandbox: Callable,
    draw: np.random.Generator,
    judge: Judge,
) -> str | None:
    """Return None when the submission (`cells`: texts) is fast enough, else a sentence; it starts from `case`.

    What else a machine does (its caches are shared) only adds to a lap's seconds, so the quickest lap of each side
    comes nearest to the truth. Raises WrongInRace, Stopped as `SandboxedSubmission` does, NotJudged as `judge` does,
    and RuntimeError when the reference fails: the lab's mistake.
    """
    terms = exercise.race
    assert terms is not None  # only such an exercise comes here
    laps = _reference(lab, exercise, case, sandbox, draw)
    submitted, referenced = [], [wanted.seconds for _, wanted in laps]
    for _ in range(terms.tries):
        with SandboxedSubmission(lab, cells, sandbox, terms.rounds * exercise.seconds) as submission:
            submission.run_cells()
            for question, wanted in laps:
                got = submission.ask(exercise, question)
                problem = _problem(exercise, question, got, wanted, judge)
                if problem is not None:
                    raise WrongInRace(f"in the race, {problem}")
                submitted.append(got.seconds)
        # again afterwards: a machine that was busy only before must not win the race; nobody has seen these questions,
        # so the next try asks them, too
        laps = _reference(lab, exercise, case, sandbox, draw)
        referenced += [wanted.seconds for _, wanted in laps]
        ratio = min(referenced) / min(submitted)
        if ratio >= terms.times:
            return None
    return f"it is {ratio:.2g} times as fast as the reference; {terms.times:g} times is asked for"


def _reference(lab, exercise, case, sandbox, draw):
    """Return the questions of one race, each with the reference's `Answer`."""
    laps, cells, seconds = [], [exercise.race.reference], exercise.race.rounds * exercise.seconds
    with SandboxedSubmission(replace(lab, files=()), cells, sandbox, seconds) as reference:
        _answered(reference.run_cells)
        for _ in range(exercise.race.rounds):
            laps.append((case, _answered(reference.ask, exercise, case)))
            question = exercise.race.chain(draw, laps[-1][1].value)
            case = question if isinstance(question, Case) else replace(case, arguments=tuple(question))
    return laps


def _problem(exercise, case, got, wanted, judge):
    stated = exercise.statement
    if got.kind != "value" or stated.judge or stated.accepts:
        return judge.problem(exercise, case, got)
    # no student's line ran where the reference did: its answer is as good as the oracle's, and sooner there
    right = equal(got.value, wanted.value, stated.tolerance)
    return None if right else f"{stated.question(case)} is wrong: expected {show(wanted.value)}"


def _answered(call, *arguments):
    try:
        answer = call(*arguments)
    except Stopped as stopped:
        raise RuntimeError(f"the race's reference stopped: {stopped.why}") from None
    if answer is not None and answer.kind != "value":
        raise RuntimeError(f"the race's reference gave no value: {answer.kind}, {answer.text}")
    return answer
