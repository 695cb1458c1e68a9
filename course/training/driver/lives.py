"""When each process of a training that was hit worked, waited, was frozen or was dead."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from course.training.driver.aftermath import Aftermath
from course.training.records import Event

_PAUSE = 0.5  # seconds without a gradient from which a worker waits: several turns of a slow one, on a busy machine


class Stretch(NamedTuple):
    """From `begin` to `end` (seconds), `what` is "works", "waits", "frozen" or "dead"."""

    begin: float
    end: float
    what: str


def lives(
    workers: int, history: np.ndarray, events: Iterable[Event], hits: Iterable[Aftermath], until: float
) -> dict[str, list[Stretch]]:
    """Return task -> its `Stretch`es in order, from 0 to `until` seconds: the parameter server's, then each worker's.

    `history`: rows with `worker` and `applied` (seconds), such as `TrainingResult.history`; `hits`: what `aftermath`
    makes of these and of `events`. A worker works while its gradients arrive, and waits where none does.
    """
    thawed = [(event.task, event.seconds) for event in events if event.what == "thawed"]
    out = [(hit.task, _stretch(hit, thawed, until)) for hit in hits if hit.at < until]
    stretches = {}
    for task in ("/job:ps/task:0", *(f"/job:worker/task:{worker}" for worker in range(workers))):
        job, _, number = task.removeprefix("/job:").partition("/task:")
        own = [stretch for hit_task, stretch in out if hit_task == task]
        applied = np.sort(history["applied"][history["worker"] == int(number)])
        busy = [(0.0, until)] if job == "ps" else _runs(applied[applied <= until], until)
        stretches[task] = list(_filled(own, busy, until))
    return stretches


def _stretch(hit, thawed, until):
    """Return the time for which a hit put its task out: until it was back, or thawed."""
    ends = [until, *([] if hit.back is None else [hit.at + hit.back])]
    ends += [seconds for task, seconds in thawed if hit.what == "frozen" and task == hit.task and seconds >= hit.at]
    return Stretch(hit.at, max(hit.at, min(ends)), "dead" if hit.what == "killed" else "frozen")


def _runs(applied, until):
    """Return (begin, end) of the times in which gradients follow one another; what ends now may go on."""
    if not len(applied):
        return []
    breaks = np.flatnonzero(np.diff(applied) > _PAUSE) + 1
    runs = [(part[0].item(), part[-1].item()) for part in np.split(applied, breaks)]
    begin, end = runs[-1]
    runs[-1] = (begin, until if until - end <= _PAUSE else end)
    return [(0.0 if begin <= _PAUSE else begin, end) for begin, end in runs]


def _filled(out, busy, until):
    """Yield stretches without a gap: what a hit took first, then work, and waiting for the rest."""
    edges = sorted({0.0, until, *(at for stretch in out for at in stretch[:2]), *(at for span in busy for at in span)})
    before: Stretch | None = None
    for begin, end in zip(edges, edges[1:], strict=False):
        middle = (begin + end) / 2
        hit = next((stretch.what for stretch in reversed(out) if stretch.begin <= middle < stretch.end), None)
        state = hit or ("works" if any(first <= middle < last for first, last in busy) else "waits")
        if before is not None and (before.what == state or (state == "waits" and end - begin <= _PAUSE)):
            before = before._replace(end=end)
            continue
        if before is not None:
            yield before
        before = Stretch(begin, end, state)
    if before is not None:
        yield before
