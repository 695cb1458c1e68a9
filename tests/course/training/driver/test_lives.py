"""What each process did when: dead from the hit until it is back, waiting where no gradient arrives, without a gap."""

from itertools import pairwise

import numpy as np
import pytest

from course.training.driver.aftermath import aftermath
from course.training.driver.lives import lives
from course.training.records import RECORD, Event

PS, A, B = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


def rows(*pairs):
    """Return a history of gradients, each (worker, second)."""
    pairs = sorted(pairs, key=lambda pair: pair[1])
    return np.array([(n + 1, worker, n, 1.0, at, at) for n, (worker, at) in enumerate(pairs)], dtype=RECORD)


def steady(worker, *spans):
    return [(worker, at) for begin, end in spans for at in np.arange(begin, end, 0.1).tolist()]


def lived(history, events, until=10.0, workers=2):
    stretches = lives(workers, history, events, aftermath(history, events), until)
    return {
        task: [(round(begin, 2), round(end, 2), state) for begin, end, state in own] for task, own in stretches.items()
    }


def test_who_is_left_alone_works_all_the_time():
    assert lived(rows(*steady(0, (0.1, 10))), [], workers=1) == {PS: [(0, 10, "works")], A: [(0, 10, "works")]}


def test_a_killed_worker_is_dead_until_it_is_back_and_the_other_works_on():
    history = rows(*steady(0, (0.1, 10)), *steady(1, (0.1, 2), (4, 10)))
    events = [Event(2, "killed", B, 20), Event(2.1, "worker lost", B, 21), Event(4, "worker joined", B, 40)]
    stretches = lived(history, events)
    assert stretches[B] == [(0, 2, "works"), (2, 4, "dead"), (4, 10, "works")]
    assert stretches[A] == stretches[PS] == [(0, 10, "works")]


def test_while_the_server_is_dead_the_workers_wait():
    history = rows(*steady(0, (0.1, 5), (7, 10)), *steady(1, (0.1, 5), (7, 10)))
    events = [Event(5, "killed", PS, 90), Event(5.2, "ps lost", PS, 90), Event(6.5, "restored", "", 80)]
    stretches = lived(history, events)
    assert stretches[PS] == [(0, 5, "works"), (5, 6.5, "dead"), (6.5, 10, "works")]
    for worker in (A, B):
        (_, stops, _), (begins, ends, state), (_, last, works) = stretches[worker]
        assert (state, works, last) == ("waits", "works", 10) and stops == begins == pytest.approx(4.9) and ends == 7


def test_a_frozen_worker_is_frozen_until_it_is_thawed_and_in_a_synchronous_training_all_wait_for_it():
    history = rows(*steady(0, (0.1, 2), (4, 10)), *steady(1, (0.1, 2), (4, 10)))
    stretches = lived(history, [Event(2, "frozen", B, 20), Event(4, "thawed", B, 20)])
    assert stretches[B] == [(0, 2, "works"), (2, 4, "frozen"), (4, 10, "works")]
    assert stretches[A] == [(0, 1.9, "works"), (1.9, 4, "waits"), (4, 10, "works")]


@pytest.mark.parametrize("until", [1.0, 3.0, 10.0])
def test_stretches_leave_no_gap_and_end_where_they_are_asked_to(until):
    history = rows(*steady(0, (0.1, 2), (4, 10)), *steady(1, (0.1, 2), (7, 8)))
    events = [Event(2, "killed", B, 20), Event(2.5, "frozen", A, 20), Event(2.6, "killed", PS, 20)]
    for own in lived(history, events, until).values():
        assert own[0][0] == 0 and own[-1][1] == until
        assert all(before[1] == after[0] and before[2] != after[2] for before, after in pairwise(own))


def test_nothing_trained_is_waiting():
    assert lived(rows(), [], until=1.0, workers=1) == {PS: [(0, 1, "works")], A: [(0, 1, "waits")]}
