"""A training that can't get further ends, and says what the reader's code said last."""

import os
import sys
import threading
import uuid
from contextlib import closing
from functools import partial

import pytest
import torch

from course.training import TrainingError, linear_regression, train
from course.training.records import ShardLost
from course.training.server.attendance import LOSSES
from course.training.transport.layout import Layout
from course.training.transport.wire import connect
from tests.helpers.shards_here import connected, ended, shards, until, working

PROBLEM = linear_regression()
SGD = partial(torch.optim.SGD, lr=0.02)
FOREVER = 10**9


@pytest.fixture
def cluster(shared_cluster):
    return shared_cluster


def check_usable(cluster):
    """The next training works: nothing is left of the last one."""
    assert train(PROBLEM, cluster, optimizer=SGD, total_steps=10).version == 10


class Ends:
    """A problem whose method `where` calls `end`, in every process but this one; in `batch`, from version 3 on."""

    def __init__(self, where, end):
        self.where, self.end, self.home = where, end, os.getpid()

    def _reached(self, where):
        if where == self.where and os.getpid() != self.home:
            print("words before the end")
            self.end()

    def initial(self):
        self._reached("initial")
        return PROBLEM.initial()

    def batch(self, worker, version, generator):
        if version >= 3:
            self._reached("batch")
        return PROBLEM.batch(worker, version, generator)

    def loss(self, parameters, batch):
        self._reached("loss")
        return PROBLEM.loss(parameters, batch)


class Odd(BaseException):
    """An exception that `except Exception` does not catch."""


def raise_odd():
    raise Odd("of the reader's")


def divide():
    return 1 / 0


@pytest.mark.parametrize("where", ["initial", "batch", "loss"])
@pytest.mark.parametrize(
    ("end", "words"),
    [(divide, "ZeroDivisionError: "), (partial(sys.exit, 3), "SystemExit: 3"), (raise_odd, "Odd: of the reader")],
)
def test_an_exit_in_the_problem_is_told_like_any_exception(cluster, where, end, words):
    with pytest.raises(TrainingError, match=rf"worker.*{words}"):
        train(Ends(where, end), cluster, optimizer=SGD, total_steps=FOREVER)
    check_usable(cluster)


@pytest.mark.faults
def test_a_worker_that_dies_at_the_same_version_each_time_ends_the_training_with_its_last_output(cluster):
    words = rf"step [34].*/job:worker/task:\d was lost {LOSSES} times.*words before the end"
    with pytest.raises(TrainingError, match=f"(?s){words}"):
        train(Ends("batch", partial(os._exit, 4)), cluster, optimizer=SGD, total_steps=FOREVER)
    check_usable(cluster)


class Gated:
    """Each gradient waits until the test lets one more be made."""

    def __init__(self):
        self.initial, self.loss, self.gate = PROBLEM.initial, PROBLEM.loss, threading.Semaphore(0)

    def batch(self, worker, version, generator):
        self.gate.acquire()
        return PROBLEM.batch(worker, version, generator)


def lose_worker(addresses, times):
    """Join as worker 1, take the parameters and leave, so many times."""
    for _ in range(times):
        handshake = {"role": "worker", "worker": 1, "token": addresses.token, "session": str(uuid.uuid4())}
        handshake |= {"incarnation": 0, "attempt": 1}
        with closing(connect(addresses.endpoints[0], handshake, patience=60)) as channel:
            channel.send("JOIN")
            channel.receive()
            channel.agree(Layout.of(PROBLEM.initial()))
            channel.receive()


def test_losses_are_counted_from_the_last_update_on():
    gated = Gated()
    with shards(workers=2, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with working(addresses, 1, gated):
            lose_each(addresses, client, LOSSES - 1)
            gated.gate.release()
            until(client, lambda status: status["version"] == 1)
            assert lose_each(addresses, client, LOSSES - 1)["ended"] is None
            lose_worker(addresses, 1)
            assert ended(client)["ended"]["worker"] == 1
            gated.gate.release(2)


def lose_each(addresses, client, count):
    """Lose the worker `count` times, each loss being told before the next; return the last status."""
    for _ in range(count):
        before = losses(client.poll(0)[0])
        lose_worker(addresses, 1)
        last = until(client, lambda status, before=before: losses(status) == before + 1)
    return last


def losses(status):
    return sum(event[1] == "worker lost" for event in status["events"])


class FailsInStep(torch.optim.SGD):
    def __init__(self, params, error):
        super().__init__(params, lr=0.02)
        self.error = error

    def step(self, closure=None):
        raise self.error


@pytest.mark.parametrize("count", [1, 2])
def test_a_half_made_update_is_in_no_snapshot(count):
    failing = partial(FailsInStep, error=TypeError("no step"))
    with shards(count, optimizer=failing, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with working(addresses):
            assert "the optimiser raised TypeError: no step" in ended(client)["ended"]["text"]
        with pytest.raises(ShardLost):
            client.snapshot()


@pytest.mark.parametrize("error", [RuntimeError("no step"), SystemExit("no step"), OSError("no step")])
def test_an_optimiser_that_fails_in_its_step_is_told_at_once(cluster, error):
    with pytest.raises(TrainingError, match=f"the optimiser raised {type(error).__name__}: no step"):
        train(PROBLEM, cluster, optimizer=partial(FailsInStep, error=error), total_steps=FOREVER)
    check_usable(cluster)
