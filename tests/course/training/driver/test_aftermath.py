"""What a hit cost: noticed, back, paused, undone."""

import numpy as np
import pytest

from course.training import Event
from course.training.driver.aftermath import aftermath
from course.training.records import RECORD

WORKER_0, WORKER, PS = "/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0"
#: case -> (seconds of worker 0's updates, events, for each hit: task, action, noticed, back, pause and undone updates)
CASES = {
    "a killed worker is noticed and comes back and costs the longest gap": (
        [1.0, 1.9, 2.1, 2.4, 3.0, 3.1, 4.1],
        [
            Event(2.0, "killed", WORKER, 20),
            Event(2.2, "worker lost", WORKER_0, 21),
            Event(2.5, "worker lost", WORKER, 22),
            Event(4.0, "worker joined", WORKER, 30),
        ],
        [(WORKER, "killed", 0.5, 2.0, 1.0, 0)],
    ),
    "a worker whose gradients come again is back though no event says so": (
        [0.5, 1.2, 4.0, 4.5],
        [Event(1.0, "killed", WORKER_0, 1), Event(1.5, "worker lost", WORKER_0, 1)],
        [(WORKER_0, "killed", 0.5, 3.0, 2.8, 0)],
    ),
    "a killed parameter server undoes the updates since its checkpoint": (
        [1.0, 2.0, 3.75, 4.0],
        [Event(2.0, "killed", PS, 50), Event(2.1, "ps lost", PS, 52), Event(3.5, "restored", "", 40)],
        [(PS, "killed", 0.1, 1.5, 1.75, 12)],
    ),
    "each of two hits on a task has its own consequences": (
        [1.0, 2.0, 3.0, 6.0],
        [
            Event(1.0, "killed", WORKER, 1),
            Event(1.5, "worker lost", WORKER, 1),
            Event(2.0, "frozen", WORKER, 2),
            Event(5.0, "worker counted out", WORKER, 3),
            Event(6.0, "worker lost", WORKER_0, 3),
        ],
        [(WORKER, "killed", 0.5, None, 1.0, 0), (WORKER, "frozen", 3.0, None, 3.0, 0)],
    ),
    "a pause belongs to the last hit before it": (
        [0.5, 1.2, 2.0, 2.9, 3.0, 7.0],
        [
            Event(1.0, "killed", WORKER, 1),
            Event(3.0, "killed", PS, 3),
            Event(3.1, "ps lost", PS, 3),
            Event(3.5, "worker lost", WORKER, 3),  # noticed after the other hit, and still the first one's
        ],
        [(WORKER, "killed", 2.5, None, 0.9, 0), (PS, "killed", 0.1, None, 4.0, 0)],
    ),
    "a loss without a hit is no hit": ([], [Event(1.0, "worker lost", WORKER, 1)], []),
    "no history is no error": ([], [Event(1.0, "killed", WORKER, 1)], [(WORKER, "killed", None, None, 0.0, 0)]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cost_of_each_hit_is_read_from_the_events_and_the_updates(case):
    seconds, events, costs = CASES[case]
    history = np.array([(n + 1, 0, n, 1.0, at, at) for n, at in enumerate(seconds)], dtype=RECORD)
    hits = aftermath(history, events)
    assert [(hit.task, hit.what) for hit in hits] == [cost[:2] for cost in costs]
    for hit, cost in zip(hits, costs, strict=True):
        assert (hit.noticed, hit.back, hit.pause, hit.undone) == pytest.approx(cost[2:])
