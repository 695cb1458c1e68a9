"""Names of tasks: `/job:worker/task:1` is one, `/job:worker/task:1/cpu:0` a device of it; work is pinned to either."""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import dask
from distributed import Client

from course.cluster.task.placement import logged

_FORM = re.compile(r"(/job:[^/:\s]+/task:\d+)(/.+)?")


@dataclass(frozen=True)
class Pin:
    """A task's name and, where one was asked for, a device of it (such as `/cpu:0`)."""

    task: str
    device: str | None = None


def parse_pin(place: str, tasks: Sequence[str], missing: Callable[[], list[str]] = list) -> Pin:
    """Return the `Pin` that `place` names; raise ValueError, at once, when it is no name or names none of `tasks`.

    `missing()`: the tasks that the spec has too but that have not joined.
    """
    form = _FORM.fullmatch(str(place))
    if form is None:
        return Pin(check_task(str(place), tasks, "cluster.at"))
    if form[1] not in tasks and form[1] in missing():
        raise ValueError(
            f"cluster.at({form[1]!r}): it is in the spec, but has not joined or has left. Start it by "
            f"`python -m course task`. There are {', '.join(tasks) or 'none yet'}"
        )
    task = check_task(form[1], tasks, "cluster.at")
    if form[2] is None:
        return Pin(task)
    from course.devices import DeviceName  # loads torch: only where a device is asked for

    return Pin(task, str(DeviceName.parse(form[2])))


def check_task(task: str, tasks: Sequence[str], where: str) -> str:
    """Return `task` if it is among `tasks`; raise ValueError that names them, and the caller `where`, otherwise."""
    if task in tasks:
        return task
    if not tasks:
        raise ValueError(f"{where}({task!r}): no task has joined this cluster yet")
    near = difflib.get_close_matches(str(task), tasks, n=1)
    advice = f"Did you mean {near[0]!r}?" if near else f"Write it in full, as {tasks[-1]!r}."
    raise ValueError(f"{where}({task!r}): the tasks of this cluster are {', '.join(tasks)}. {advice}")


@contextmanager
def pinned(pin: Pin, client: Client) -> Iterator[Pin]:
    """Pin the Dask work that is described or submitted to `client` inside the `with`, in this thread."""
    notes = {"workers": [pin.task], "allow_other_workers": False}
    if pin.device:
        notes["executor"] = pin.device  # a task keeps an executor for each device: see course.cluster.task.placement
    with dask.annotate(**notes), logged(client):
        yield pin
