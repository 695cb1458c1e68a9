"""A worker killed while it maps or throws darts changes nothing in the answer, pinned work included."""

import threading
import time

import numpy as np
import pytest

from course import estimate_pi, local_cluster, map_reduce, mean

pytestmark = pytest.mark.faults
DARTS = 30_000_000


@pytest.fixture
def cluster(shared_cluster):
    return shared_cluster


@pytest.fixture
def killer(cluster):
    """Kill `task` after `seconds`, in a thread that is joined at the end."""
    threads = []

    def kill_later(task, seconds):
        threads.append(threading.Timer(seconds, cluster.kill, [task]))
        threads[-1].start()

    yield kill_later
    for thread in threads:
        thread.join(60)


def square_slowly(x):
    time.sleep(0.15)
    return x * x


def add(left, right):
    return left + right


@pytest.mark.parametrize("task", ["/job:worker/task:0", "/job:worker/task:1"])
def test_a_worker_killed_during_map_reduce_changes_nothing(cluster, killer, task):
    killer(task, 0.25)
    assert map_reduce(square_slowly, add, range(12), cluster.executor, timeout=60) == sum(x * x for x in range(12))


def test_a_worker_killed_during_pinned_map_reduce_changes_nothing(cluster, killer):
    killer("/job:worker/task:1", 0.25)
    with cluster.at("/job:worker/task:1"):
        answer = map_reduce(square_slowly, add, range(6), cluster.executor, timeout=60)
    assert answer == sum(x * x for x in range(6))


@pytest.mark.parametrize("method", ["pseudo", "stratified"])
def test_a_worker_killed_during_estimate_pi_changes_nothing(cluster, killer, method):
    samples = DARTS if method == "pseudo" else DARTS // 8
    killer("/job:worker/task:0", 0.05)
    assert estimate_pi(samples, 3, cluster.executor, method) == estimate_pi(samples, 3, method=method)


def test_a_worker_killed_during_a_pinned_estimate_pi_changes_nothing(cluster, killer):
    killer("/job:worker/task:0", 0.05)
    with cluster.at("/job:worker/task:0"):
        pinned = estimate_pi(DARTS, 4, cluster.executor)
    assert pinned == estimate_pi(DARTS, 4)


def test_both_workers_killed_one_after_the_other_change_nothing(cluster, killer):
    killer("/job:worker/task:0", 0.05)
    killer("/job:worker/task:1", 0.3)
    assert estimate_pi(DARTS, 5, cluster.executor) == estimate_pi(DARTS, 5)


def test_a_worker_killed_during_a_mean_changes_nothing(cluster, killer):
    data = np.random.default_rng(0).standard_normal(400_000).astype(np.float32)
    killer("/job:worker/task:1", 0.01)
    assert mean(data, 8, cluster.executor) == mean(data, 8)


def test_work_sent_after_a_kill_is_done_by_the_replacement(cluster):
    cluster.kill("/job:worker/task:1")
    with cluster.at("/job:worker/task:1"):
        assert map_reduce(square_slowly, add, [1, 2], cluster.executor, timeout=60) == 5


def test_pieces_of_a_closed_cluster_say_so_at_once():
    with local_cluster(worker=1) as closed:
        executor = closed.executor
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="closed"):
        estimate_pi(1000, executor=executor)
    assert time.monotonic() - started < 15  # nothing was waited for
