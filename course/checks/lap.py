"""`lap(mine, ours, questions)`: is it right, and how fast beside another version? For fun: no marks hang on it."""

import copy
from collections.abc import Callable, Sequence
from time import perf_counter

from course.checks.check import Verdict
from course.checks.compare import equal, show


def lap(
    mine: Callable,
    ours: Callable,
    questions: Sequence[tuple],
    wrong: Callable[[Callable], str | None] | None = None,
    repeats: int = 5,
) -> Verdict:
    """Return a `Verdict`: "not yet" on a stub, "wrong" with the first question missed, else "passed" with the ratio.

    `questions`: tuples of arguments, each of which `mine` gets as a copy; the last is the one that is timed, by the
    clock, the quickest of `repeats` calls of each in turn. `mine` must answer as `ours` does; where answers may
    differ, `wrong(mine)` says what is wrong with it, or None. What `mine` raises is shown, never passed on.
    """
    problem = None
    try:
        answer = mine(*copy.deepcopy(questions[0]))
        if answer is None or answer is ...:
            return Verdict("not yet", f"{_name(mine)}: write it, then race.")
        problem = wrong(mine) if wrong else _missed(mine, ours, questions)
    except Exception as failure:  # the reader's code raises whatever it likes
        problem = f"it raised {type(failure).__name__}: {failure}"
    if problem is not None:
        return Verdict("wrong", f"{_name(mine)}: {problem}. Right first, then fast.")
    ratio = _ratio(mine, ours, questions[-1], repeats)
    return Verdict("passed", f"{_name(mine)} is right, and {ratio:.2g} times as fast as the last rung.")


def _missed(mine, ours, questions):
    for question in questions:
        got, wanted = mine(*copy.deepcopy(question)), ours(*question)
        if not equal(got, wanted):
            return f"{show(question)} is wrong: expected {show(wanted)}, got {show(got)}"
    return None


def _ratio(mine, ours, question, repeats):
    best = {mine: float("inf"), ours: float("inf")}
    for _ in range(repeats):
        for way in best:
            arguments = copy.deepcopy(question)
            started = perf_counter()
            way(*arguments)
            best[way] = min(best[way], perf_counter() - started)
    return best[ours] / best[mine]


def _name(function):
    return getattr(function, "__name__", "your function")
