"""A worker's loop that ended while training goes on is sent again, when its task is there."""

import contextlib
from types import SimpleNamespace

from course.training.driver import worker_pool as pool_file
from course.training.driver.worker_pool import WorkerPool
from course.training.records import ShardAddresses

WORKERS = ["/job:worker/task:0", "/job:worker/task:1"]


class Loop:
    status = "finished"

    def __init__(self, task):
        self.task, self.over, self.released = task, False, False

    def done(self):
        return self.over

    def release(self):
        self.released = True


class Cluster:
    """Stands for a cluster: notes which loop was sent where."""

    def __init__(self):
        self.tasks, self.gone, self.sent, self.pinned = list(WORKERS), [], [], None
        self.client = self

    @contextlib.contextmanager
    def at(self, task):
        if task in self.gone:
            raise ValueError(f"cluster.at({task!r}): it has not joined")
        self.pinned = task
        yield

    def submit(self, *_, pure):
        self.sent.append(Loop(self.pinned))
        return self.sent[-1]


@contextlib.contextmanager
def at_work(monkeypatch):
    """Yield a cluster, its pool at work, and a clock to be set."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(pool_file, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=lambda _: None))
    cluster = Cluster()
    plan = SimpleNamespace(workers=WORKERS, problem=None, device=None, routes={}, settings=SimpleNamespace(seed=0))
    pool = WorkerPool(cluster, plan)
    with pool.workers_running(SimpleNamespace(addresses=ShardAddresses((), (), ""))):
        yield cluster, pool, clock
        for loop in cluster.sent:
            loop.over = True
    assert all(loop.released for loop in cluster.sent)


def test_a_loop_that_ended_is_sent_again_after_a_moment_and_only_that_one(monkeypatch):
    with at_work(monkeypatch) as (cluster, pool, clock):
        cluster.sent[1].over = True
        pool.check()
        clock.now = 0.5
        pool.check()
        assert len(cluster.sent) == 2, "training may be over, and the session not know it yet"
        clock.now = 1.5
        pool.check()
        pool.check()
        assert [loop.task for loop in cluster.sent] == [*WORKERS, WORKERS[1]]


def test_a_task_that_is_away_gets_its_loop_when_it_is_back(monkeypatch):
    with at_work(monkeypatch) as (cluster, pool, clock):
        cluster.sent[0].over = True
        cluster.tasks = WORKERS[1:]
        for clock.now in (0.0, 2.0, 4.0):
            pool.check()
        assert len(cluster.sent) == 2
        cluster.tasks, cluster.gone = WORKERS, WORKERS[:1]  # listed a moment ago, gone again when it is asked for
        clock.now = 6.0
        pool.check()
        assert len(cluster.sent) == 2
        cluster.gone = []
        clock.now = 8.0
        pool.check()
        assert [loop.task for loop in cluster.sent] == [*WORKERS, WORKERS[0]]


def test_the_last_output_of_a_crash_in_c_is_its_first_words_not_the_stacks_of_all_threads():
    crash = ["before", "Fatal Python error: Segmentation fault", "", *(f"  File {at}" for at in range(300))]
    cluster = SimpleNamespace(log=lambda task: "\n".join([*(f"line {at}" for at in range(50)), *crash]))
    output = WorkerPool(cluster, SimpleNamespace(workers=WORKERS)).last_output(1).splitlines()
    assert output[0] == f"The last output of {WORKERS[1]}:"
    assert output[-6:] == crash[:6]
    cluster.log = lambda task: ""
    assert WorkerPool(cluster, SimpleNamespace(workers=WORKERS)).last_output(0) == f"{WORKERS[0]} printed nothing."
