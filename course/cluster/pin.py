"""Where work goes: `/job:worker/task:1` names a task, `/job:worker/task:1/cpu:0` a device of it."""

import difflib
import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_FORM = re.compile(r"(/job:[A-Za-z_][A-Za-z0-9_.-]*/task:\d+)(/.+)?")
_CURRENT = ContextVar("course.cluster.pin", default=None)


@dataclass(frozen=True)
class Pin:
    """A task's name and, where one was asked for, a device of it (such as `/cpu:0`)."""

    task: str
    device: str | None = None


def parse_pin(place, tasks, where="at"):
    """Return the `Pin` that `place` names; raise ValueError, at once, when it is no name or names none of `tasks`."""
    form = _FORM.fullmatch(place) if isinstance(place, str) else None
    task = form[1] if form else place
    if form is None or task not in tasks:
        near = difflib.get_close_matches(str(task), tasks, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"{where}({place!r}): the tasks of this cluster are {', '.join(tasks)}.{hint}")
    if form[2]:
        from course.devices import DeviceName  # loads torch: only where a device is asked for

        return Pin(task, str(DeviceName.parse(form[2])))
    return Pin(task)


@contextmanager
def pinned(pin):
    """Pin the Dask work that is described or submitted inside the `with`, in this thread."""
    import dask

    notes = {"workers": [pin.task], "allow_other_workers": False}
    if pin.device:
        notes["executor"] = pin.device  # each task keeps one placing executor a device; see course.cluster.placing
    token = _CURRENT.set(pin)
    try:
        with dask.annotate(**notes):
            yield pin
    finally:
        _CURRENT.reset(token)


def current_pin():
    """Return the `Pin` of the innermost `cluster.at` around the caller in its own thread, or None."""
    return _CURRENT.get()
