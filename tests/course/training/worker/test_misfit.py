"""A worker whose parameters are not the training's: it hears why, so does the driver, and it is never the chief."""

import re

import pytest
import torch

from course.training.multihost.worker_thread import WorkerThread
from course.training.records import Misfit
from course.training.worker.worker_loop import run_worker
from tests.helpers.shards_here import FOREVER, PROBLEM, connected, ended, shards, until, working


class OtherShape:
    """The line's parameters, one of them of another shape, and one more."""

    batch, loss = PROBLEM.batch, PROBLEM.loss

    def initial(self):
        return {**PROBLEM.initial(), "slope": torch.zeros(3), "third": torch.zeros(1)}


@pytest.mark.parametrize("count", [1, 2])
def test_a_worker_with_other_parameters_hears_why_and_so_does_the_driver_at_once(count):
    words = r"'slope' is \(3,\) torch.float32, the training's \(.*\) torch.float32. Start every role with one problem"
    with shards(count) as (addresses, _), connected(addresses) as client:
        with pytest.raises(Misfit, match=f"worker 0 can't take part in this training: its {words}"):
            run_worker(OtherShape(), 0, addresses)
        end = ended(client, 5)["ended"]
    assert end["why"] == "error" and re.search(f"worker 0 is refused: its {words}", end["text"])


def test_a_worker_with_other_parameters_disturbs_no_training_that_runs():
    with shards(limit=FOREVER, workers=2) as (addresses, _), connected(addresses) as client:
        with working(addresses, workers=2):
            until(client, lambda status: status["version"] > 10)
            with pytest.raises(Misfit):
                run_worker(OtherShape(), 1, addresses)
            status = until(client, lambda status: status["events"])
            client.stop()
    assert [event[1:3] for event in status["events"]] == [["worker refused", 1]] and not status["ended"]


def test_a_role_with_other_parameters_ends_with_the_reason_before_it_may_lead():
    loop = WorkerThread(OtherShape(), 1, 0, None)
    loop.check(None)  # no training runs yet: it may still be the first chief
    with shards(workers=2) as (addresses, _), connected(addresses) as client:
        loop.follow(addresses)
        with pytest.raises(Misfit, match="worker 1 can't take part in this training: its 'slope' is"):
            loop.check(addresses)
        assert "worker 1 is refused" in ended(client, 5)["ended"]["text"]
    loop.close()
