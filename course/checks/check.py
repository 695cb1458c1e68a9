"""`check(answer)`: run the exercise's cases against the reader's answer and say what was seen."""

import contextlib
import copy
import difflib
import re
from collections import Counter
from dataclasses import dataclass, replace
from html import escape
from threading import Lock
from time import monotonic

from course.checks.calling import call_here, noticed
from course.checks.compare import show
from course.checks.discovery import check_files, check_files_of_the_checkout, exercises_in
from course.checks.exercise import VALUE, Case, Exercise
from course.checks.mistakes import StillToWrite, float_for_int, heard, sentence_for, whole
from course.checks.noted import noted
from course.checks.shrink import smallest
from course.checks.time_limit import time_limit
from course.draw import html

#: An answer to one input of `check` may work so long, in the processor's time: right ones take milliseconds, and the
#: first may import a library.
CHECKED_ANSWER_WORKS = 10.0
#: … and so long on the clock: a busy machine lets it wait.
CHECKED_ANSWER_WAITS = 60.0
#: For all inputs of one `check` together; after that no other begins.
CHECK = 120.0

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
    """`state` is "passed", "wrong" or "not yet"; `message` says why. It prints itself and is true when passed.

    `about` is "value" where an answer gave a wrong one, "error" where it raised, and "slip" where its mistake has
    nothing to do with the input: then neither a hint nor a smaller input would help. `done` is the exercise that was
    passed, as ("01", "on_the_gpu"), where it is one of a chapter: the browser that shows this notes it.
    """

    state: str
    message: str
    about: str = "value"
    done: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return self.state == "passed"

    def __repr__(self) -> str:
        return f"{ {'passed': '✓', 'wrong': '✕', 'not yet': '…'}[self.state] } {self.message}".replace("\n", "\n  ")

    def _repr_mimebundle_(self, include=None, exclude=None):
        kind = {"passed": "ok", "wrong": "wrong", "not yet": "note"}[self.state]
        body = f'<div class="{kind}" style="white-space: pre-wrap">{escape(self.message)}</div>'
        body += noted(*self.done) if self.done else ""
        return {"text/plain": repr(self), "text/html": html(body, repr(self)).html}


def check(answer: object, exercise: str | None = None, attempts: Attempts = ATTEMPTS) -> Verdict:
    """Check an exercise's answer; return a `Verdict`: passed, the smallest counterexample, or "not yet" on a stub.

    `answer` is the function that the exercise asks for, found by its name; for an answer that is a value, name the
    exercise: `check(238, "total")`. An answer that raises is shown, never passed on, and one that does not come back is
    stopped: a check does not stop *Run All*, whatever it is given; only an interrupt stops a check. From the second
    wrong answer on, as `attempts` counts them, the exercise's hint is shown.
    """
    name = exercise or getattr(answer, "__name__", None)
    if not isinstance(name, str):
        text = f"check({show(answer)}): an answer that is a value needs its exercise's name, check(value, 'name')."
        return Verdict("not yet", text, "slip")
    try:
        path, statement = _located(name)
    except ValueError as failure:
        return Verdict("not yet", str(failure), "slip")
    verdict = _function(statement, answer) if callable(answer) else _value(statement, answer)
    counts = verdict.state == "wrong" and verdict.about == "value"
    if counts and attempts.wrong(name) >= HINT_AFTER and statement.hint:
        return replace(verdict, message=f"{verdict.message}\nHint: {statement.hint}")
    chapter = re.match(r"ch(\d\d)_", path.name)
    return replace(verdict, done=(chapter[1], name)) if verdict and chapter else verdict


def _function(exercise, answer):
    """Try the fixed cases, the smallest first; then, where inputs can be drawn, look for a smaller counterexample."""
    count, verdict, notes, began = 0, None, [], monotonic()
    for case in exercise.questions():
        if monotonic() - began > CHECK:
            text = f"{exercise.name}: {count} cases were right, and took more than {CHECK:g} s. Too slow to try more."
            return Verdict("wrong", text, "slip")
        verdict = _one_case(exercise, answer, case, first=count == 0, notes=notes)
        if verdict is not None:
            break
        count += 1
    if verdict is not None and verdict.about == "error" and count:
        verdict = replace(verdict, about="value")  # it works for other inputs: what it does with this one is wrong
    may_be_smaller = verdict is None or (verdict.state == "wrong" and verdict.about != "slip")
    if exercise.inputs is not None and may_be_smaller:
        inputs = exercise.inputs()  # a strategy, or a context manager that gives one: its files are there meanwhile
        with inputs if hasattr(inputs, "__enter__") else contextlib.nullcontext(inputs) as strategy:
            verdict = smallest(strategy, lambda drawn: _one_case(exercise, answer, drawn, False), verdict)
    if verdict is not None:
        return verdict
    drawn = " and others drawn at random" if exercise.inputs is not None else ""
    return Verdict("passed", " ".join([f"{exercise.name}: {count} cases{drawn}, all right.", *notes[:1]]))


def find_exercise(name: str) -> Exercise:
    """Return the `Exercise` called `name`; raises ValueError that names the nearest ones.

    Those beside the notebook come first, then those of the checkout's chapters and labs.
    """
    return _located(name)[1]


def _located(name):
    """Return the file that states the exercise `name`, and the `Exercise`."""
    own, every = check_files(), set()
    for path in dict.fromkeys([*own, *check_files_of_the_checkout()]):  # one by one: most load torch
        exercises = exercises_in(path)
        if name in exercises:
            return path, exercises[name]
        every |= exercises.keys()
    near = difflib.get_close_matches(name, sorted(every)) or sorted(every)
    alone = "" if own else " They are in the checks.py that comes with the notebook: it must lie beside it."
    raise ValueError(
        f"check: there is no exercise {name!r}. Name the function as the exercise does: {', '.join(near)}.{alone}"
    )


def _one_case(exercise, answer, case, first, notes=None):
    """Return None where `answer` is right for `case`, else a Verdict; a remark on a right one is added to `notes`."""
    case = case if isinstance(case, Case) else Case(tuple(case))
    if exercise.watch is None:
        return _run_case(exercise, answer, lambda: (call_here(exercise, answer, case),), case, first, notes)
    with contextlib.ExitStack() as stack:
        try:
            run = stack.enter_context(exercise.watch())
        except RuntimeError as failure:  # what it needs, such as a GPU, can't be had just now
            return Verdict("not yet", f"{exercise.name}: {failure}", "slip")
        run_watched = lambda: run(noticed(answer), copy.deepcopy(case.arguments))  # noqa: E731
        return _run_case(exercise, answer, run_watched, case, first, notes)


def _run_case(exercise, answer, run, case, first, notes):
    call = exercise.question(case)
    with heard() as ears:
        try:
            with time_limit(CHECKED_ANSWER_WORKS, CHECKED_ANSWER_WAITS):
                got, *observed = run()
        except KeyboardInterrupt:
            raise
        except StillToWrite:
            got = None
        except BaseException as failure:  # the reader's code may raise anything; it is shown as the counterexample
            text, slip = sentence_for(failure, exercise, answer, case, CHECKED_ANSWER_WORKS)
            return Verdict("wrong", text, "slip" if slip else "error")
    if got is None or got is ...:
        return _nothing(exercise, call, ears.text.strip(), first)
    complaint = _complaint(exercise, case, got, observed)
    if complaint is None:
        if notes is not None and exercise.judge is None and float_for_int(got, whole(got)):
            notes += filter(None, [float_for_int(got, exercise.wanted(case))])
        return None
    if (remark := float_for_int(got, whole(got))) and _complaint(exercise, case, whole(got), observed) is None:
        return Verdict("wrong", f"{call}\ngave {show(got)}. {remark}", "slip")
    return Verdict("wrong", f"{call}\ngave {show(got)}; {complaint}.")


def _nothing(exercise, call, printed, first):
    if printed:
        text = f"printed {show(printed)} and returned nothing. `print` only shows a value; `return` gives it back."
        return Verdict("wrong", f"{call}\n{text}", "slip")
    if first:
        return Verdict("not yet", f"{exercise.name}: still to write.")
    return Verdict("wrong", f"{call} returned nothing.")


def _complaint(exercise, case, got, observed=()):
    if exercise.read is not None:
        try:
            got = exercise.read(got)
        except Exception:  # `read`, numpy, torch and the reader's own class raise what they like
            return f"expected {exercise.wants}" if exercise.wants else exercise.complaint(case, None)
    try:
        return exercise.complaint(case, got, observed)
    except Exception as failure:  # numpy, torch and the reader's own class raise what they like
        return f"that is not what was asked for: looked at as an answer, it raised {type(failure).__name__}"


def _value(exercise, answer):
    if answer is None or answer is ... or (isinstance(answer, dict) and ... in answer.values()):
        return Verdict("not yet", f"{exercise.name}: still to answer.")
    for case in exercise.questions():
        if case.arguments or exercise.watch is not None or exercise.call not in (None, VALUE):
            text = f"{exercise.entry} is a function to write; {show(answer)} is a value. Hand in the function itself."
            return Verdict("wrong", text, "slip")
        complaint = _complaint(exercise, case, answer)
        if complaint is not None:
            # not the expected value itself: the reader should find it
            reason = complaint if exercise.accepts else "that is not it"
            return Verdict("wrong", f"{exercise.name} = {show(answer)}: {reason}.")
    return Verdict("passed", f"{exercise.name} = {show(answer)}: right.")
