"""The ring without events: all ranks do the same step at a time, so ten thousand of them are one array."""

import numpy as np

from course.scale.message_costs import Costs


def ring_ends(compute: np.ndarray, costs: Costs, nbytes: float) -> np.ndarray:
    """Return the seconds at which rank 0 has ended each of its rounds: `events.run` on `ring_rank`, a core for each.

    `compute`: seconds of each gradient, shape `(ranks, rounds)`. A rank that has sent goes on when the message of the
    rank before is there; it wakes late when it had to wait for it.
    """
    size, ends = len(compute), []
    one = costs.message + nbytes / size * costs.byte
    now = np.zeros(size)
    for seconds in compute.T:
        work = seconds
        for _ in range(2 * (size - 1)):
            now += work + one
            arrived = np.roll(now, 1)
            slept = arrived > now
            work = one + np.where(slept, costs.wake, 0.0)
            np.maximum(now, arrived, out=now)
        now += work
        ends.append(now[0])
    return np.array(ends)
