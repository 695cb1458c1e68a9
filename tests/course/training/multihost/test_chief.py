"""Who is chief, and how the next one goes on: two candidates over one cluster, each with a worker's loop of its own."""

import threading
from contextlib import ExitStack
from functools import partial

import pytest
import torch

from course.training import Hook, TrainingError, linear_regression
from course.training.checkpoint.checkpoints import Checkpoints
from course.training.driver.shard_client import context_of
from course.training.driver.train import train_with
from course.training.driver.training_plan import TrainingPlan, participants
from course.training.multihost.chief_election import ChiefLease
from course.training.multihost.chief_pool import ChiefPool
from course.training.multihost.status_board import Notice, StatusBoard
from course.training.multihost.worker_thread import WorkerThread
from course.training.records import Deposed, ShardAddresses, TrainingSettings
from tests.helpers.shells import eventually

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()


@pytest.fixture
def cluster(shared_cluster):
    """Its scheduler knows of no training."""
    shared_cluster.client.run_on_scheduler(_forget_trainings)
    return shared_cluster


def _forget_trainings(dask_scheduler):
    dask_scheduler.task_metadata.clear()


class Closed:
    @property
    def client(self):
        raise RuntimeError("it was closed")


def test_the_board_keeps_the_word_of_the_latest_chief(cluster):
    board = StatusBoard(cluster)
    assert board.read() is None
    addresses = ShardAddresses(
        (("127.0.0.1", 1),), ("/job:ps/task:0",), "secret", 3, (("w",),), {"w": "(2,) torch.float32"}
    )
    assert board.post(Notice(2, "running", addresses, folder="here"))
    assert board.read() == Notice(2, "running", addresses, folder="here")
    assert not board.post(Notice(1, "failed", text="an old chief's"))
    assert board.post(Notice(2, "done", text="two\nlines"))
    assert StatusBoard(cluster).read() == Notice(2, "done", text="two\nlines")
    with pytest.raises(TrainingError, match="cluster is lost: it was closed"):
        StatusBoard(Closed()).read()


def test_what_one_role_tells_every_other_role_reads_once_and_in_order(cluster):
    chief, other = StatusBoard(cluster), StatusBoard(cluster)
    for number in range(3):
        chief.tell(f"line {number}", "/job:worker/task:0")
        eventually(lambda number=number: len(_told(cluster)) == number + 1)
    assert other.news("/job:ps/task:0") == ["line 0", "line 1", "line 2"]
    assert other.news("/job:ps/task:0") == [] and chief.news("/job:worker/task:0") == []
    assert StatusBoard(cluster).news("/job:worker/task:1") == ["line 0", "line 1", "line 2"]


def _told(cluster):
    client = cluster.client
    return client.sync(client.scheduler.get_metadata, keys=["course-training-news"], default=[])


def test_the_lowest_candidate_is_chief_and_the_next_one_when_it_leaves(cluster):
    with ExitStack() as leaves:
        first = leaves.enter_context(ChiefLease(cluster, "/job:worker/task:0"))  # later, it might come too late
        with ChiefLease(cluster, "/job:worker/task:1") as second:
            eventually(lambda: first.mine or second.mine)
            assert first.mine and not second.mine
            term = first.term
            with pytest.raises(Deposed):
                second.check()
            leaves.close()
            eventually(lambda: second.mine)
            assert second.term > term
            second.check()


class Until(Hook):
    """Stops at a step, or when told to; `.step` is the last one told, `.whats` the events."""

    def __init__(self, stop=10**9):
        self.stop, self.step, self.whats = stop, 0, []

    def after_run(self, session, step):
        self.step = step.step
        if step.step >= self.stop:
            session.request_stop("far enough")

    def event(self, session, event):
        self.whats.append(event.what)


class Candidate:
    """What a worker's process has: lease, board, worker thread; `lead` trains in a thread, as a process would."""

    def __init__(self, cluster, index, lease):
        self.cluster, self.lease, self.board = cluster, lease, StatusBoard(cluster)
        ps, workers = participants(cluster.tasks)
        settings = TrainingSettings("async", len(workers), 10**9)
        self.plan, self.outcome = TrainingPlan(PROBLEM, SGD, settings, ps, workers), []
        self.worker_thread = WorkerThread(PROBLEM, index, 0, context_of(cluster.client.security, "worker"))

    def lead(self, hook, folder):
        pool = ChiefPool(self.cluster, self.plan, self.board, self.lease, self.worker_thread, self.board.read(), folder)

        def run():
            try:
                self.outcome.append(train_with(pool, [hook], pool.folder()))
            except Exception as error:
                self.outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread


def test_the_next_chief_takes_the_running_shards_over_and_nothing_is_rolled_back(cluster, tmp_path):
    with ChiefLease(cluster, "/job:worker/task:0") as lease:
        first, old_hook = Candidate(cluster, 0, lease), Until()
        eventually(lambda: lease.mine)
        leading = first.lead(old_hook, tmp_path)
        eventually(lambda: first.board.read() is not None)
        with ChiefLease(cluster, "/job:worker/task:1") as next_lease:
            second = Candidate(cluster, 1, next_lease)
            second.worker_thread.follow(second.board.read().addresses)
            eventually(lambda: old_hook.step > 100)
            lease._ended.set()  # as a frozen process: it renews no more
            eventually(lambda: next_lease.mine)
            leading.join(60)
            assert isinstance(first.outcome[0], Deposed)
            reached, new_hook = old_hook.step, Until(stop=old_hook.step + 500)
            second.lead(new_hook, tmp_path).join(60)
    result = second.outcome[0]
    assert result.version >= reached + 500 and result.restored_from is None
    assert result.history["step"].tolist() == list(range(1, result.version + 1))
    assert new_hook.whats[0] == "chief took over" and "worker joined" not in new_hook.whats
    assert Checkpoints(tmp_path).latest().version == result.version


@pytest.mark.long
@pytest.mark.parametrize("folder", ["same", "another"])
def test_a_chief_that_finds_no_shards_goes_on_from_a_checkpoint_or_not_at_all(cluster, tmp_path, folder):
    with ChiefLease(cluster, "/job:worker/task:0") as lease:
        eventually(lambda: lease.mine)
        first, second = Candidate(cluster, 0, lease), Candidate(cluster, 1, lease)
        leading = first.lead(Until(stop=30), tmp_path / "same")
        eventually(lambda: first.board.read() is not None)
        gone = first.board.read().addresses
        second.worker_thread.follow(gone)
        leading.join(60)  # its shards have ended with it, and its notice is still up
        reached = first.outcome[0].version
        chief = second.lead(Until(stop=reached + 20), tmp_path / folder)
        eventually(lambda: first.board.read().addresses != gone or not chief.is_alive())
        first.worker_thread.follow(first.board.read().addresses)
        chief.join(60)
    if folder == "same":
        assert second.outcome[0].restored_from == reached
    else:
        assert "No checkpoint in" in str(second.outcome[0])
