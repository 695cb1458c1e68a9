"""Calling an answer in the notebook's kernel, as its exercise states: with copies, files, tensors or a driver."""

import contextlib
import copy
import inspect
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from course.checks.exercise import Case, Exercise
from course.checks.mistakes import StillToWrite, callable_with


def call_here(exercise: Exercise, answer: Any, case: Case) -> Any:
    """Return what `answer` gives for `case`, called as `exercise` states; None where it returns nothing.

    The answer gets its own copy of the arguments, so that one that changes its input can't change the question. Passes
    on whatever the answer raises; raises WrongSignature where it can't be called so.
    """
    with _files_of(replace(case, arguments=copy.deepcopy(case.arguments))) as case:
        if exercise.tensors:
            case = replace(case, arguments=_tensors(case.arguments))
        try:
            if exercise.in_kernel is not None:
                return exercise.in_kernel(noticed(answer), case)
            if exercise.call is not None:
                return _driver(exercise.call)(noticed(answer), *case.arguments)
            callable_with(answer, *case.arguments)
            return answer(*case.arguments)
        except StillToWrite:
            return None


def noticed(answer: Any) -> Any:
    """Return `answer`, which raises where it returns nothing or can't be called so; a class, or a value, as it is."""
    if not callable(answer) or inspect.isclass(answer):
        return answer

    @wraps(answer)
    def checked_answer(*arguments, **settings):
        callable_with(answer, *arguments, **settings)
        result = answer(*arguments, **settings)
        if result is None or result is ...:
            raise StillToWrite
        return result

    return checked_answer


def _driver(call: Callable | str) -> Callable:
    if not isinstance(call, str):
        return call
    names: dict[str, Any] = {"__name__": "driver"}
    exec(compile(call, "<driver>", "exec"), names)
    return names["drive"]


@contextlib.contextmanager
def _files_of(case: Case) -> Iterator[Case]:
    """Within the `with`, the case's files lie in a folder; arguments that name one say where."""
    if not case.files:
        yield case
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, data in case.files.items():
            Path(folder, name).write_bytes(data)
        places = [str(Path(folder, a)) if isinstance(a, str) and a in case.files else a for a in case.arguments]
        yield replace(case, arguments=tuple(places))


def _tensors(value: Any) -> Any:
    import numpy
    import torch

    if isinstance(value, numpy.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_tensors(item) for item in value)
    return {key: _tensors(item) for key, item in value.items()} if isinstance(value, dict) else value
