"""`check(answer)`: run the exercise's cases against the reader's answer and say what was seen."""

import contextlib
import copy
import difflib
from collections import Counter
from dataclasses import dataclass
from html import escape
from threading import Lock

from course.checks.calling import call_here
from course.checks.compare import show
from course.checks.discovery import check_files, check_files_of_the_checkout, exercises_in
from course.checks.exercise import Case, Exercise
from course.checks.shrink import smallest
from course.draw import html

HINT_AFTER = 2  # wrong answers


class Attempts:
    """The wrong answers of one kernel, by exercise. Safe to use from several threads.

    >>> attempts = Attempts()
    >>> attempts.wrong("step"), attempts.wrong("film"), attempts.wrong("step")
    (1, 1, 2)
    """

    def __init__(self) -> None:
        self._wrong: Counter[str] = Counter()
        self._lock = Lock()

    def wrong(self, exercise: str) -> int:
        """Count one more wrong answer to `exercise`; return how many there were, this one included."""
        with self._lock:
            self._wrong[exercise] += 1
            return self._wrong[exercise]


#: Those of this process, which is a notebook's kernel.
ATTEMPTS = Attempts()


@dataclass(frozen=True, repr=False)
class Verdict:
    """`state` is "passed", "wrong" or "not yet"; `message` says why. It prints itself and is true when passed."""

    state: str
    message: str

    def __bool__(self) -> bool:
        return self.state == "passed"

    def __repr__(self) -> str:
        return f"{ {'passed': '✓', 'wrong': '✕', 'not yet': '…'}[self.state] } {self.message}".replace("\n", "\n  ")

    def _repr_mimebundle_(self, include=None, exclude=None):
        kind = {"passed": "ok", "wrong": "wrong", "not yet": "note"}[self.state]
        body = f'<div class="{kind}" style="white-space: pre-wrap">{escape(self.message)}</div>'
        return {"text/plain": repr(self), "text/html": html(body, repr(self)).html}


def check(answer: object, exercise: str | None = None, attempts: Attempts = ATTEMPTS) -> Verdict:
    """Check an exercise's answer; return a `Verdict`: passed, the smallest counterexample, or "not yet" on a stub.

    `answer` is the function that the exercise asks for, found by its name; for an answer that is a value, name the
    exercise: `check(238, "total")`. An answer that raises is shown, never passed on: a check does not stop *Run All*.
    From the second wrong answer on, as `attempts` counts them, the exercise's hint is shown. Raises ValueError for an
    exercise that does not exist.
    """
    name = exercise or getattr(answer, "__name__", None)
    if name is None:
        raise ValueError(
            f"check({show(answer)}): an answer that is a value needs its exercise's name, check(value, 'name')."
        )
    found = find_exercise(name)
    verdict = _function(found, answer) if callable(answer) else _value(found, answer)
    if verdict.state == "wrong" and attempts.wrong(name) >= HINT_AFTER and found.hint:
        return Verdict("wrong", f"{verdict.message}\nHint: {found.hint}")
    return verdict


def _function(exercise, answer):
    """Try the fixed cases, the smallest first; then, where inputs can be drawn, look for a smaller counterexample."""
    count, verdict = 0, None
    for case in exercise.questions():
        verdict = _one_case(exercise, answer, case, first=count == 0)
        if verdict is not None:
            break
        count += 1
    if exercise.inputs is not None and (verdict is None or verdict.state == "wrong"):
        inputs = exercise.inputs()  # a strategy, or a context manager that gives one: its files are there meanwhile
        with inputs if hasattr(inputs, "__enter__") else contextlib.nullcontext(inputs) as strategy:
            verdict = smallest(strategy, lambda drawn: _one_case(exercise, answer, drawn, False), verdict)
    if verdict is not None:
        return verdict
    drawn = " and others drawn at random" if exercise.inputs is not None else ""
    return Verdict("passed", f"{exercise.name}: {count} cases{drawn}, all right.")


def find_exercise(name: str) -> Exercise:
    """Return the `Exercise` called `name`; raises ValueError that names the nearest ones.

    Those beside the notebook come first, then those of the checkout's chapters and labs.
    """
    own, every = check_files(), set()
    for path in dict.fromkeys([*own, *check_files_of_the_checkout()]):  # one by one: most load torch
        found = exercises_in(path)
        if name in found:
            return found[name]
        every |= found.keys()
    near = difflib.get_close_matches(name, sorted(every)) or sorted(every)
    alone = "" if own else " They are in the checks.py that comes with the notebook: it must lie beside it."
    raise ValueError(
        f"check: there is no exercise {name!r}. Name the function as the exercise does: {', '.join(near)}.{alone}"
    )


def _one_case(exercise, answer, case, first):
    case = case if isinstance(case, Case) else Case(tuple(case))
    if exercise.watch is None:
        return _run_case(exercise, lambda: (call_here(exercise, answer, case),), case, first)
    with exercise.watch() as run:
        return _run_case(exercise, lambda: run(answer, copy.deepcopy(case.arguments)), case, first)


def _run_case(exercise, run, case, first):
    call = exercise.question(case)
    try:
        got, *seen = run()
    except Exception as failure:  # the reader's code may raise anything; it is shown as the counterexample
        return Verdict("wrong", f"{call} raised {_in_short(failure)}")
    if got is None or got is ...:
        text = f"{exercise.name}: still to write." if first else f"{call} returned nothing."
        return Verdict("not yet" if first else "wrong", text)
    complaint = _complaint(exercise, case, got, seen)
    if complaint is None:
        return None
    return Verdict("wrong", f"{call}\ngave {show(got)}; {complaint}.")


def _complaint(exercise, case, got, seen):
    if exercise.read is not None:
        try:
            got = exercise.read(got)
        except (TypeError, ValueError, LookupError, AttributeError):
            return f"expected {exercise.wants}" if exercise.wants else exercise.complaint(case, None)
    return exercise.complaint(case, got, seen)


def _value(exercise, answer):
    if answer is None or answer is ... or (isinstance(answer, dict) and ... in answer.values()):
        return Verdict("not yet", f"{exercise.name}: still to answer.")
    for case in exercise.questions():
        complaint = exercise.complaint(case, answer)
        if complaint is not None:
            # not the expected value itself: the reader should find it
            reason = complaint if exercise.accepts else "that is not it"
            return Verdict("wrong", f"{exercise.name} = {show(answer)}: {reason}.")
    return Verdict("passed", f"{exercise.name} = {show(answer)}: right.")


def _in_short(failure, limit=400):
    # torch lists every backend that has a kernel; the first lines say what is wrong
    text = f"{type(failure).__name__}: {failure}"
    return text if len(text) <= limit else text[:limit] + " …"
