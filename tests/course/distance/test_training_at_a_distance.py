"""Trainings whose workers reach their parameter server through slow lines: the same parameters, later."""

from functools import partial

import pytest
import torch

from course.cluster import local_cluster
from course.distance import Link
from course.training import Hook, linear_regression, mnist, train, train_in_turns
from tests.slow.distance.rounds import COMPUTE, least, ring

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(ps=1, worker=2) as one:
        yield one


@pytest.mark.parametrize("delay", [0.0, 0.025])
def test_synchronous_updates_over_slow_lines_have_the_same_bits_and_take_their_round_trips(cluster, delay):
    with Link(delay) as one, Link(delay) as other:
        routes = {0: one.to, 1: other.to}
        far = train(PROBLEM, cluster, optimizer=SGD, mode="sync", total_steps=12, routes=routes)
    near = train_in_turns(PROBLEM, optimizer=SGD, mode="sync", workers=2, total_steps=12)
    assert all(torch.equal(far.parameters[name], near.parameters[name]) for name in near.parameters)
    applied = far.history["applied"]
    assert applied[-1] - applied[0] >= 11 * 2 * delay


class Late(Hook):
    """Stops the training when worker 1 has made three updates, and one of them late."""

    def __init__(self):
        self.staleness = []

    def after_run(self, session, step):
        if step.worker == 1:
            self.staleness.append(step.step - 1 - step.version)
        if len(self.staleness) > 2 and max(self.staleness) > 1:
            session.request_stop("the far one is late")


@pytest.mark.parametrize("delay", [0.0, 0.025])
def test_an_asynchronous_worker_far_away_is_late_and_the_near_one_does_not_wait(cluster, delay):
    # 25 ms are many updates of the near one; if it waited, this would not end
    limits = {"total_steps": 10**9, "hooks": [Late()]} if delay else {"total_steps": 200}
    with Link(delay) as link:
        result = train(PROBLEM, cluster, optimizer=SGD, routes={1: link.to}, **limits)
    mine = result.of_worker(1)["applied"]
    assert len(result.history) == result.version and (len(mine) < 2 or (mine[1:] - mine[:-1]).min() >= 2 * delay)
    assert not delay or result.staleness[result.history["worker"] == 1].max() > 1


def test_all_bytes_of_a_large_gradient_go_through_the_line_though_both_ends_are_on_one_host(cluster):
    problem, steps = mnist(), 5
    size = sum(value.nbytes for value in problem.initial().values())
    with Link() as link:
        train(problem, cluster, optimizer=SGD, workers=1, total_steps=steps, routes={0: link.to})
        there, back = link.moved
    assert min(there, back) >= steps * size


def test_a_route_for_a_worker_that_is_not_there_is_refused(cluster):
    with pytest.raises(ValueError, match="numbers 0 to 1"):
        train(PROBLEM, cluster, optimizer=SGD, total_steps=1, routes={2: tuple})


def test_no_rounds_of_a_ring_are_quicker_than_their_trips_one_after_another():
    assert ring(3, 3, 0.005, None) >= least("ring", 3, 0.005) == COMPUTE + 4 * 0.005
