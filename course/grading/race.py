"""A speed as a ratio, timed outside: a submission and the lab's reference, each in a sandbox, on the same questions.

Each question is made from the answer to the one before and from fresh noise, so nothing can be worked out ahead; each
answer is judged, so a fast wrong one is wrong. Both sides pay the same for the pipe.
"""

import statistics
from dataclasses import replace

from course.checks.exercise import show
from course.grading.ask import Stopped, Talk
from course.grading.lab import Case, equal

TRIES = 2  # a machine that is busy with other things must not decide: the better of two ratios counts


def race(lab, exercise, case, talk, sandbox, draw):
    """Return None when the submission in `talk` is fast enough, else a sentence. Raises Stopped as `talk.ask` does.

    It starts from `case`. RuntimeError when the reference fails: our side's mistake.
    """
    witness = exercise.witness
    best = 0.0
    with Talk(replace(lab, files=()), [witness.reference], sandbox, _seconds(lab, exercise)) as reference:
        _or_ours(reference.run_cells)
        for _ in range(TRIES):
            ratios = []
            for _ in range(witness.rounds):
                wanted = _or_ours(reference.ask, exercise, case)
                got = talk.ask(exercise, case)
                complaint = _complaint(exercise, case, got, wanted)
                if complaint is not None:
                    return f"in the race, {exercise.question(case)} is wrong: {complaint}"
                ratios.append(wanted.seconds / got.seconds)
                case = _next(witness.chain(draw, wanted.value), case)
            best = max(best, statistics.median(ratios))
            if best >= witness.times:
                return None
    return f"it is {best:.2g} times as fast as the reference; {witness.times:g} times is asked for"


def _complaint(exercise, case, got, wanted):
    if got.kind != "value":
        return got.text
    if exercise.judge is not None:
        return exercise.judge(case, got.value)
    # no student's line ran where the reference did: its answer is as good as the oracle's, and sooner there
    return None if equal(got.value, wanted.value, exercise.tolerance) else f"expected {show(wanted.value)}"


def _seconds(lab, exercise):
    return lab.seconds + 60 + 2 * TRIES * exercise.witness.rounds * exercise.seconds


def _next(made, case):
    return made if isinstance(made, Case) else replace(case, arguments=tuple(made))


def _or_ours(call, *arguments):
    try:
        answer = call(*arguments)
    except Stopped as stopped:
        raise RuntimeError(f"the race's reference stopped: {stopped.why}") from None
    if answer is not None and answer.kind != "value":
        raise RuntimeError(f"the race's reference gave no value: {answer.kind}, {answer.text}")
    return answer
