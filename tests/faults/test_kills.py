"""Tasks are killed and stopped while they work: the answer stays the same, and nobody waits for ever."""

import os
import signal
import time

import psutil
import pytest

from course.cluster import local_cluster, supervisor
from course.mapreduce import map_reduce
from course.pi import estimate_pi

pytestmark = pytest.mark.faults
VICTIM = "/job:worker/task:1"


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(ps=1, worker=2) as made:
        yield made


def pid_of(cluster, task):
    with cluster.at(task):
        return cluster.executor.submit(os.getpid).result(timeout=20)


def slow_square(x):
    time.sleep(0.1)
    return x * x


def test_killing_a_pinned_task_twice_changes_nothing_in_the_answer(cluster):
    with cluster.at(VICTIM):
        squares = cluster.executor.map(slow_square, range(8))
    for _ in range(2):
        time.sleep(0.35)
        os.kill(pid_of_process(cluster, VICTIM), signal.SIGKILL)
        wait_until(lambda: VICTIM in names(cluster))
    assert list(squares) == [x * x for x in range(8)]


def pid_of_process(cluster, task):
    """The task's process id, from the scheduler: a busy task could not say."""
    workers = cluster.client.run_on_scheduler(
        lambda dask_scheduler: {w.name: w.pid for w in dask_scheduler.workers.values()}
    )
    return workers[task]


def names(cluster):
    return cluster.client.run_on_scheduler(lambda dask_scheduler: [w.name for w in dask_scheduler.workers.values()])


def wait_until(true, seconds=15):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_killing_every_task_changes_nothing_in_map_reduce(cluster):
    parts = list(range(12))
    futures = cluster.executor.submit(slow_square, 3)
    for task in cluster.tasks:
        cluster.kill(task)
    assert map_reduce(slow_square, lambda a, b: a + b, parts, executor=cluster.executor) == sum(x * x for x in parts)
    assert futures.result(timeout=20) == 9


def test_killing_a_task_changes_nothing_in_pi(cluster):
    samples = 4_000_000
    alone = estimate_pi(samples, seed=5)
    with cluster.at(VICTIM):
        busy = cluster.executor.submit(time.sleep, 0.2)  # the darts queue behind it, and die with it
        pinned = cluster.executor.submit(estimate_pi, samples, seed=5)
    time.sleep(0.1)
    cluster.kill(VICTIM)
    assert estimate_pi(samples, seed=5, executor=cluster.executor).inside == alone.inside
    assert pinned.result(timeout=30).inside == alone.inside
    assert busy.result(timeout=30) is None


def test_a_replaced_task_keeps_its_name_and_its_port(cluster):
    before, pid = cluster.spec, pid_of(cluster, VICTIM)
    cluster.kill(VICTIM)
    assert pid_of(cluster, VICTIM) != pid
    assert cluster.spec == before


def test_a_restart_frees_a_busy_task(cluster):
    with cluster.at(VICTIM):
        endless = cluster.executor.submit(time.sleep, 1000)
    wait_until(lambda: not endless.done() and pid_of_process(cluster, VICTIM))
    endless.cancel()
    cluster.restart(VICTIM)
    began = time.monotonic()
    assert pid_of(cluster, VICTIM)
    assert time.monotonic() - began < 5
    cluster.restart()
    assert sorted(names(cluster)) == cluster.tasks


def test_a_function_that_ends_its_process_is_given_up_by_name(cluster):
    with (
        cluster.at(VICTIM),
        pytest.raises(RuntimeError, match=r"/job:worker/task:1 died .* it may end its own process"),
    ):
        cluster.executor.submit(os._exit, 3).result(timeout=60)
    assert pid_of(cluster, VICTIM)


def test_a_stopped_task_is_replaced_and_its_work_done(cluster, monkeypatch):
    monkeypatch.setattr(supervisor, "_FROZEN", 0.5)
    pid = pid_of(cluster, VICTIM)
    os.kill(pid, signal.SIGSTOP)
    with cluster.at(VICTIM):
        assert cluster.executor.submit(slow_square, 7).result(timeout=20) == 49
    assert not psutil.pid_exists(pid)


def test_a_task_that_is_stopped_for_a_moment_lives_on(cluster):
    pid = pid_of(cluster, VICTIM)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(pid, signal.SIGCONT)
    assert pid_of(cluster, VICTIM) == pid


def test_when_the_fork_server_is_killed_every_task_comes_back(cluster):
    server = psutil.Process(pid_of(cluster, VICTIM)).parent()
    assert "course.cluster.forkserver" in " ".join(server.cmdline())
    server.kill()
    assert list(cluster.executor.map(slow_square, range(4))) == [0, 1, 4, 9]
    assert pid_of(cluster, VICTIM)


def test_closing_a_cluster_with_a_stopped_and_a_busy_task_is_quick():
    with local_cluster(worker=2) as made:
        with made.at("/job:worker/task:0"):
            made.executor.submit(time.sleep, 1000)
        os.kill(pid_of(made, VICTIM), signal.SIGSTOP)
        began = time.monotonic()
    assert time.monotonic() - began < 5
