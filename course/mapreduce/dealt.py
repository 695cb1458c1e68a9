"""Slices dealt to tasks, one each, in simulated seconds: when each is done, who waits, and what a killed task costs."""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Task number `task` works on slice number `slice` from second `start` to `stop`; `lost`: it was killed then."""

    task: int
    slice: int
    start: float
    stop: float
    lost: bool = False


def dealt(sizes: Sequence[int], killed: int | None = None) -> list[Span]:
    """Return the `Span`s of the tasks: task k works on slice k, a second for each of its `sizes[k]` numbers.

    Task `killed` dies when half of its slice is done. That half is lost, and the slice begins anew at the task that is
    free first. The join can begin at the latest `stop`. Raises ValueError for a negative size, a task that is none, or
    a task killed when there is no other.
    """
    if min(sizes, default=-1) < 0 or (killed is not None and (len(sizes) < 2 or not 0 <= killed < len(sizes))):
        raise ValueError(
            f"dealt(sizes={list(sizes)}, killed={killed}): give sizes from 0 up, one of their places or None, and two "
            "tasks or more where one is killed."
        )
    spans = [Span(task, task, 0.0, float(size)) for task, size in enumerate(sizes)]
    if killed is None:
        return spans
    death = sizes[killed] / 2
    spans[killed] = Span(killed, killed, 0.0, death, lost=True)
    if sizes[killed] == 0:
        return spans
    heir = min((span for span in spans if not span.lost), key=lambda span: span.stop)
    start = max(death, heir.stop)
    return [*spans, Span(heir.task, killed, start, start + sizes[killed])]
