"""What a fault cost: when it was noticed, when all was well again, how long nothing moved, how much was undone."""

from typing import NamedTuple

import numpy as np

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


def aftermath(history, events):
    """Return an `Aftermath` for each hit among `events`, in order of time.

    `history`: rows with `applied` in seconds, such as `TrainingResult.history`. `events`: each with `seconds`, `what`,
    `task` and `step`: the training's own (`TrainingResult.events`) and, beside them, hits, whose `what` is one of HITS.
    What happens to a task before it is hit again belongs to the first hit, a pause to the last hit before it.
    """
    events = sorted(events, key=lambda event: event.seconds)
    applied = np.sort(history["applied"])
    last = max([0.0, *applied[-1:].tolist(), *(event.seconds for event in events)])
    hits = [event for event in events if event.what in HITS]
    found = []
    for number, hit in enumerate(hits):
        following = hits[number + 1 :]
        again = next((one.seconds for one in following if one.task == hit.task), last)
        seen = [event for event in events if hit.seconds <= event.seconds <= again]
        pause = _longest_gap(applied, hit.seconds, following[0].seconds if following else last)
        found.append(_one(hit, seen, pause))
    return found


def _one(hit, seen, pause):
    is_ps = hit.task.startswith("/job:ps/")
    noticed = _first(seen, ("ps lost",) if is_ps else ("worker lost", "worker counted out"), hit.task)
    back = _first(seen, ("restored",), None) if is_ps else _first(seen, ("worker joined",), hit.task)
    undone = max(0, noticed.step - back.step) if is_ps and noticed and back else 0
    times = [event and event.seconds - hit.seconds for event in (noticed, back)]
    return Aftermath(hit.task, hit.what, hit.seconds, *times, pause, undone)


def _longest_gap(applied, begin, end):
    between = applied[(applied >= begin) & (applied <= end)]
    return float(np.diff([begin, *between, end]).max())


def _first(events, whats, task):
    return next((e for e in events if e.what in whats and task in (None, e.task)), None)
