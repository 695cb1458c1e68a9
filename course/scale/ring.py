"""The ring without events: all ranks do the same step at a time, so ten thousand of them are one array."""

import numpy as np

from course.scale.message_costs import Costs


def ring_ends(compute: np.ndarray, costs: Costs, nbytes: float) -> np.ndarray:
    """Return the seconds at which rank 0 has ended each of its rounds: `events.run` on `ring_rank`, a core for each.

    `compute`: seconds of each gradient, shape `(ranks, rounds)`. A rank that has sent goes on when the message of the
    rank before has arrived; it wakes late when it had to wait.
    """
    size, ends = len(compute), []
    message_seconds = costs.message + nbytes / size * costs.byte
    clocks = np.zeros(size)
    for seconds in compute.T:
        work = seconds
        for _ in range(2 * (size - 1)):
            clocks += work + message_seconds
            arrived = np.roll(clocks, 1)
            slept = arrived > clocks
            work = message_seconds + np.where(slept, costs.wake, 0.0)
            np.maximum(clocks, arrived, out=clocks)
        clocks += work
        ends.append(clocks[0])
    return np.array(ends)
