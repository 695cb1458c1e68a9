"""What a hit cost: noticed, back, paused, undone; and the pace that makes it visible."""

import time

import numpy as np
import pytest

from course.training import Event, linear_regression
from course.training.driver.aftermath import aftermath
from course.training.problems import paced as pace_module
from course.training.problems.paced import paced
from course.training.problems.problem import batch_generator
from course.training.records import RECORD

WORKER, PS = "/job:worker/task:1", "/job:ps/task:0"


def updates_at(*seconds):
    return np.array([(n + 1, 0, n, 1.0, at, at) for n, at in enumerate(seconds)], dtype=RECORD)


def test_a_killed_worker_is_noticed_and_comes_back_and_costs_the_longest_gap():
    events = [
        Event(2.0, "killed", WORKER, 20),
        Event(2.2, "worker lost", "/job:worker/task:0", 21),  # another's
        Event(2.5, "worker lost", WORKER, 22),
        Event(4.0, "worker joined", WORKER, 30),
    ]
    (one,) = aftermath(updates_at(1.0, 1.9, 2.1, 2.4, 3.0, 3.1, 4.1), events)
    assert (one.task, one.what, one.at, one.noticed, one.back, one.undone) == (WORKER, "killed", 2.0, 0.5, 2.0, 0)
    assert one.pause == pytest.approx(1.0)


def test_a_worker_whose_gradients_come_again_is_back_though_nobody_told_it():
    events = [Event(1.0, "killed", "/job:worker/task:0", 1), Event(1.5, "worker lost", "/job:worker/task:0", 1)]
    (one,) = aftermath(updates_at(0.5, 1.2, 4.0, 4.5), events)
    assert (one.noticed, one.back) == (0.5, 3.0)


def test_a_killed_parameter_server_undoes_the_updates_since_its_checkpoint():
    events = [Event(2.0, "killed", PS, 50), Event(2.1, "ps lost", PS, 52), Event(3.5, "restored", "", 40)]
    (one,) = aftermath(updates_at(1.0, 2.0, 3.75, 4.0), events)
    assert (one.noticed, one.back, one.undone) == (pytest.approx(0.1), 1.5, 12)
    assert one.pause == pytest.approx(1.75)


def test_each_of_two_hits_on_a_task_has_its_own_consequences():
    events = [
        Event(1.0, "killed", WORKER, 1),
        Event(1.5, "worker lost", WORKER, 1),
        Event(2.0, "frozen", WORKER, 2),
        Event(5.0, "worker counted out", WORKER, 3),
        Event(6.0, "worker lost", "/job:worker/task:0", 3),
    ]
    first, second = aftermath(updates_at(1.0, 2.0, 3.0, 6.0), events)
    assert (first.noticed, first.back) == (0.5, None)
    assert (second.what, second.noticed, second.back, second.pause) == ("frozen", 3.0, None, 3.0)


def test_a_pause_belongs_to_the_last_hit_before_it():
    events = [Event(1.0, "killed", WORKER, 1), Event(3.0, "killed", PS, 3), Event(3.1, "ps lost", PS, 3)]
    events.append(Event(3.5, "worker lost", WORKER, 3))  # noticed after the other hit, and still the first one's
    worker, server = aftermath(updates_at(0.5, 1.2, 2.0, 2.9, 3.0, 7.0), events)
    assert worker.noticed == 2.5
    assert worker.pause == pytest.approx(0.9) and server.pause == pytest.approx(4.0)


def test_what_nobody_did_is_no_hit_and_no_history_is_no_error():
    assert aftermath(updates_at(), [Event(1.0, "worker lost", WORKER, 1)]) == []
    assert aftermath(updates_at(), [Event(1.0, "killed", WORKER, 1)])[0].noticed is None


def test_a_paced_problem_is_the_same_problem_and_takes_longer(monkeypatch):
    problem = linear_regression()
    slowly = paced(problem, 0.01)
    monkeypatch.setattr(pace_module, "_EXTRA", [0.02])
    started = time.perf_counter()
    x, y = slowly.batch(1, 7, batch_generator(0, 1, 7))
    assert time.perf_counter() - started >= 0.03
    same_x, same_y = problem.batch(1, 7, batch_generator(0, 1, 7))
    assert x.equal(same_x) and y.equal(same_y) and slowly.initial() == problem.initial()
    assert slowly.loss(slowly.initial(), (x, y)) == problem.loss(problem.initial(), (x, y))


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_a_pace_below_zero_is_refused(seconds):
    with pytest.raises(ValueError, match="from 0 up"):
        paced(linear_regression(), seconds)
