"""Mistakes in how an answer is written, not in what it computes: each gets a sentence of its own."""

import builtins
import contextlib
import difflib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from course.checks.compare import show
from course.checks.exercise import Case, Exercise
from course.checks.time_limit import TimeIsUp


class StillToWrite(BaseException):
    """The answer returned nothing: no driver can go on. A driver that catches exceptions must not catch this one."""


class WrongSignature(BaseException):
    """The answer can't be called with the arguments that it was called with; the text says why."""


class Heard:
    """Stands in for `out`, a file, and keeps the first of what is printed there in `text`."""

    def __init__(self, out: TextIO) -> None:
        self._out, self.text = out, ""

    def write(self, text: str) -> int:
        """Pass `text` on."""
        self.text += text[: 300 - len(self.text)]
        return self._out.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


@contextlib.contextmanager
def heard() -> Iterator[Heard]:
    """Within the `with`, the first of what is printed is kept in `Heard.text`."""
    ears = Heard(sys.stdout)
    with contextlib.redirect_stdout(ears):
        yield ears


def callable_with(answer: Callable, *arguments: object, **settings: object) -> None:
    """Raise `WrongSignature` when `answer` can't be called so; nothing where Python doesn't know its signature."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments, **settings)
    except TypeError as failure:
        raise WrongSignature(f"{signature}: {failure}") from None


def sentence_for(
    failure: BaseException, exercise: Exercise, answer: Callable, case: Case, seconds: float
) -> tuple[str, bool]:
    """Return (sentence, whether it is a slip) for what `answer` raised for `case`; it may work for `seconds`.

    A slip has nothing to do with the case: no other input and no hint would help.
    """
    call, where = exercise.question(case), _where(failure, answer)
    if isinstance(failure, TimeIsUp):
        return f"{call}\nhad not come back after {seconds:g} s or more, and was stopped{where}.", True
    if isinstance(failure, WrongSignature):
        return f"{exercise.entry}{failure}. It is called so: {call}.{_first_line(exercise)}", True
    if isinstance(failure, SystemExit):
        return f"{call}\nasked Python to end{where}. Leave with `return`.", True
    if isinstance(failure, NameError) and not isinstance(failure, UnboundLocalError) and failure.name:
        near = difflib.get_close_matches(failure.name, _names_in_reach(failure), 1)
        meant = f" Did you mean `{near[0]}`?" if near else " If it is made in a cell above, run that cell first."
        return f"{exercise.entry} uses a name that is not defined: `{failure.name}`{where}.{meant}", True
    return f"{call} raised {_in_short(failure)}{where}", isinstance(failure, (SyntaxError, ImportError))


def whole(got: Any) -> Any:
    """Return `got` with an int for every float that is a whole number, also in lists, tuples and dicts.

    >>> whole([4.0, (2.5, 1)])
    [4, (2.5, 1)]
    """
    if isinstance(got, float):
        return int(got) if got.is_integer() else got
    if type(got) in (list, tuple):
        return type(got)(map(whole, got))
    return {key: whole(value) for key, value in got.items()} if type(got) is dict else got


def float_for_int(got: Any, wanted: Any) -> str:
    """Return a sentence when somewhere in `got` a float stands for an int of `wanted`, else "".

    >>> float_for_int((4.0, 1), (4, 1))
    'A whole number was asked for: 4, not 4.0. `//` divides without leaving them, int(…) makes one.'
    """
    if isinstance(got, float) and isinstance(wanted, int) and not isinstance(wanted, bool):
        reason = f"A whole number was asked for: {wanted}, not {show(got)}."
        return f"{reason} `//` divides without leaving them, int(…) makes one."
    if isinstance(got, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return next(filter(None, map(float_for_int, got, wanted)), "")
    if isinstance(got, dict) and isinstance(wanted, dict):
        return next(filter(None, (float_for_int(value, wanted.get(key)) for key, value in got.items())), "")
    return ""


def _where(failure, answer):
    """Return the line of the answer's own file, or cell, that `failure` passed last: " (line 2: `return x`)"."""
    code, line, traced = getattr(answer, "__code__", None), 0, failure.__traceback__
    while traced is not None and code is not None:
        if traced.tb_frame.f_code.co_filename == code.co_filename:
            line = traced.tb_lineno
        traced = traced.tb_next
    text = linecache.getline(code.co_filename, line).strip() if line else ""
    return f" (line {line}: `{text}`)" if text else ""


def _names_in_reach(failure):
    frame, traced = None, failure.__traceback__
    while traced is not None:
        frame, traced = traced.tb_frame, traced.tb_next
    return [*frame.f_locals, *frame.f_globals, *dir(builtins)] if frame else dir(builtins)


def _first_line(exercise):
    if exercise.call is not None or exercise.in_kernel is not None or not inspect.isfunction(exercise.expected):
        return ""
    names = ", ".join(inspect.signature(exercise.expected).parameters)
    return f" Its first line is `def {exercise.entry}({names}):`"


def _in_short(failure, limit=400):
    # torch lists every backend that has a kernel; the first lines say what is wrong
    try:
        text = f"{type(failure).__name__}: {failure}"
    except Exception:  # the reader's own exception, whose __str__ raises whatever it likes
        text = type(failure).__name__
    return text if len(text) <= limit else text[:limit] + " …"
