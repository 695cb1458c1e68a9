"""What a fault cost: when it was noticed, when all was well again, how long nothing moved, how much was undone."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from course.training.records import Event

HITS = ("killed", "frozen")  # what somebody did to a task; all else is what the training saw of it


class Aftermath(NamedTuple):
    """One hit on `task` and what followed, in seconds after the hit; None for what never came.

    `what`: "killed" or "frozen", at second `at` of the training. `noticed`: the training counted the task out; `back`:
    it was there again. `pause`: the longest stretch without any update. `undone`: updates that a restore took back.
    """

    task: str
    what: str
    at: float
    noticed: float | None
    back: float | None
    pause: float
    undone: int


def aftermath(history: np.ndarray, events: Iterable[Event]) -> list[Aftermath]:
    """Return an `Aftermath` for each hit among `events`, in order of time.

    `history`: rows with `worker` and `applied` (seconds), such as `TrainingResult.history`. `events`: each with
    `seconds`, `what`, `task` and `step`: the training's own (`TrainingResult.events`) and, beside them, hits, whose
    `what` is one of HITS. What happens to a task belongs to its last hit before, a pause to the last hit of any.
    """
    events = sorted(events, key=lambda event: event.seconds)
    applied = np.sort(history["applied"])
    last = max([0.0, *applied[-1:].tolist(), *(event.seconds for event in events)])
    hits = [event for event in events if event.what in HITS]
    consequences = []
    for number, hit in enumerate(hits):
        following = hits[number + 1 :]
        again = next((later.seconds for later in following if later.task == hit.task), last)
        between = [event for event in events if hit.seconds <= event.seconds <= again]
        pause = _longest_gap(applied, hit.seconds, following[0].seconds if following else last)
        if hit.task.startswith("/job:ps/"):
            consequences.append(_of_ps(hit, between, pause))
        else:
            mine = history["worker"] == int(hit.task.rpartition(":")[2])
            applied_by_it = history["applied"][mine & (history["applied"] <= again)]
            consequences.append(_of_worker(hit, between, pause, applied_by_it))
    return consequences


def _of_ps(hit, events, pause):
    noticed, back = _first(events, ("ps lost",), hit.task), _first(events, ("restored",), None)
    undone = max(0, noticed.step - back.step) if noticed and back else 0
    times = [event and event.seconds - hit.seconds for event in (noticed, back)]
    return Aftermath(hit.task, hit.what, hit.seconds, *times, pause, undone)


def _of_worker(hit, events, pause, applied):
    noticed = _first(events, ("worker lost", "worker counted out"), hit.task)
    if noticed is None:
        return Aftermath(hit.task, hit.what, hit.seconds, None, None, pause, 0)
    joined = _first(events, ("worker joined",), hit.task)
    # after the loss of a parameter server all workers join anew, without an event for any of them
    signs = [*([joined.seconds] if joined else []), *applied[applied > noticed.seconds].tolist()]
    back = min(signs) - hit.seconds if signs else None
    return Aftermath(hit.task, hit.what, hit.seconds, noticed.seconds - hit.seconds, back, pause, 0)


def _longest_gap(applied, begin, end):
    between = applied[(applied >= begin) & (applied <= end)]
    return float(np.diff([begin, *between, end]).max())


def _first(events, whats, task):
    return next((e for e in events if e.what in whats and task in (None, e.task)), None)
