"""Tasks are killed, frozen and stopped while they work: the answer stays the same, and nobody waits for ever."""

import contextlib
import operator
import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest
from distributed import get_worker

from course import estimate_pi, map_reduce, mean
from course.cluster import local_cluster
from course.cluster.local_runtime import process as launch
from course.cluster.local_runtime import supervisor
from tests.helpers.shells import eventually

pytestmark = pytest.mark.faults
VICTIM = "/job:worker/task:1"


def pid_of(cluster, task):
    with cluster.at(task):
        return cluster.executor.submit(os.getpid).result(timeout=60)


def slow_square(x):
    time.sleep(0.1)
    return x * x


def test_killing_a_pinned_task_twice_changes_nothing_in_the_answer(cluster):
    with cluster.at(VICTIM):
        squares = cluster.executor.map(slow_square, range(8))
    for _ in range(2):
        time.sleep(0.35)  # some of the eight are done, one is at work
        pid = pids(cluster)[VICTIM]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: pids(cluster).get(VICTIM, pid) != pid)
    assert list(squares) == [x * x for x in range(8)]


def pids(cluster):
    """Each task's process id as the scheduler knows it: a busy task could not say."""
    return cluster.client.run_on_scheduler(
        lambda dask_scheduler: {worker.name: worker.pid for worker in dask_scheduler.workers.values()}
    )


DATA = np.random.default_rng(0).standard_normal(400_000).astype(np.float32)
ANSWERS = {
    "map_reduce": lambda executor: map_reduce(slow_square, operator.add, range(12), executor),
    "mean": lambda executor: mean(DATA, 8, executor),
    "pseudo": lambda executor: estimate_pi(30_000_000, 3, executor),
    "stratified": lambda executor: estimate_pi(4_000_000, 3, executor, "stratified"),
}
OTHER = "/job:worker/task:0"


@pytest.mark.parametrize(
    ("name", "kills", "pin"),
    [
        ("map_reduce", {OTHER: 0, VICTIM: 0, "/job:ps/task:0": 0}, None),
        ("mean", {VICTIM: 0.01}, None),
        ("pseudo", {OTHER: 0.05}, OTHER),
        pytest.param("map_reduce", {VICTIM: 0.25}, None, marks=pytest.mark.long),
        pytest.param("map_reduce", {VICTIM: 0.25}, VICTIM, marks=pytest.mark.long),
        pytest.param("pseudo", {OTHER: 0.05, VICTIM: 0.3}, None, marks=pytest.mark.long),
        pytest.param("stratified", {OTHER: 0.05}, None, marks=pytest.mark.long),
    ],
)
def test_tasks_killed_while_they_work_change_nothing_in_the_answer(cluster, name, kills, pin):
    killers = [threading.Timer(seconds, cluster.kill, [task]) for task, seconds in kills.items()]
    for killer in killers:
        killer.start()
    with cluster.at(pin) if pin else contextlib.nullcontext():
        answer = ANSWERS[name](cluster.executor)
    for killer in killers:
        killer.join(60)
    assert answer == ANSWERS[name](None)


def test_a_replaced_task_keeps_its_name_and_its_port(cluster):
    before, pid = cluster.spec, pid_of(cluster, VICTIM)
    cluster.kill(VICTIM)
    assert pid_of(cluster, VICTIM) != pid
    assert cluster.spec == before


def test_work_that_is_pinned_to_a_task_while_it_is_away_runs_there_when_it_is_back(cluster):
    away = False
    while not away:  # a successor may have come before it is looked for
        pid = pids(cluster)[VICTIM]
        cluster.kill(VICTIM)
        eventually(lambda pid=pid: pids(cluster).get(VICTIM) != pid)
        away = VICTIM not in pids(cluster)
        with cluster.at(VICTIM):
            names = [cluster.executor.submit(lambda: get_worker().name) for _ in range(6)]
    assert {name.result(timeout=60) for name in names} == {VICTIM}


def test_a_restart_frees_a_busy_task(cluster):
    with cluster.at(VICTIM):
        endless = cluster.executor.submit(time.sleep, 1000)
    time.sleep(0.2)
    endless.cancel()
    cluster.restart(VICTIM)
    assert pid_of(cluster, VICTIM)
    cluster.restart()
    assert sorted(pids(cluster)) == cluster.tasks


@pytest.mark.long
def test_a_task_is_replaced_once_however_long_its_start_takes(cluster, monkeypatch):
    starts = []

    def slowly(settings):
        starts.append(settings.name)
        time.sleep(0.5)  # the supervisor looks several times meanwhile
        return launch.launch(settings)

    monkeypatch.setattr(supervisor, "launch", slowly)
    cluster.restart(VICTIM)
    assert pids(cluster)[VICTIM] == pid_of(cluster, VICTIM)
    assert starts == [VICTIM]


def test_a_function_that_ends_its_process_is_given_up_by_name(cluster):
    with (
        cluster.at(VICTIM),
        pytest.raises(RuntimeError, match=r"/job:worker/task:1 died .* it may end its own process"),
    ):
        cluster.executor.submit(os._exit, 3).result(timeout=120)
    assert pid_of(cluster, VICTIM)


def test_a_stopped_task_is_replaced_and_its_work_done(cluster, monkeypatch):
    monkeypatch.setattr(supervisor, "TASK_FROZEN", 0.5)
    pid = pid_of(cluster, VICTIM)
    os.kill(pid, signal.SIGSTOP)
    with cluster.at(VICTIM):
        assert cluster.executor.submit(slow_square, 7).result(timeout=60) == 49
    assert not psutil.pid_exists(pid)


def test_a_frozen_task_answers_when_it_is_thawed_and_is_the_same_process(cluster, monkeypatch):
    monkeypatch.setattr(supervisor, "TASK_FROZEN", 60.0)
    pid = pid_of(cluster, VICTIM)
    cluster.thaw(VICTIM)  # one that is not frozen goes on as it is
    cluster.freeze(VICTIM)
    eventually(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    with cluster.at(VICTIM):
        waiting = cluster.executor.submit(os.getpid)
    with pytest.raises(TimeoutError):
        waiting.result(timeout=0.5)
    cluster.thaw(VICTIM)
    assert waiting.result(timeout=60) == pid


@pytest.mark.long
def test_when_the_fork_server_is_killed_every_task_comes_back(cluster):
    server = psutil.Process(pid_of(cluster, VICTIM)).parent()
    assert "course.cluster.local_runtime.forkserver" in " ".join(server.cmdline())
    server.kill()
    assert list(cluster.executor.map(slow_square, range(4))) == [0, 1, 4, 9]
    assert pid_of(cluster, VICTIM)


def test_closing_a_cluster_with_a_stopped_and_a_busy_task_is_quick():
    with local_cluster(worker=2) as own:
        with own.at("/job:worker/task:0"):
            own.executor.submit(time.sleep, 1000)
        os.kill(pid_of(own, VICTIM), signal.SIGSTOP)
        began = time.monotonic()
    assert time.monotonic() - began < 60


@pytest.mark.long  # a task that imports torch afresh, twice
def test_where_processes_are_spawned_a_cluster_works_and_replaces_its_tasks_too(monkeypatch):
    """macOS and Windows have no fork server; their way is tried here."""
    monkeypatch.setattr(supervisor, "launch", launch._Spawned)
    with local_cluster(worker=1) as own:
        pid = pid_of(own, "/job:worker/task:0")
        assert psutil.Process(pid).ppid() == os.getpid()
        os.kill(pid, signal.SIGKILL)
        with own.at("/job:worker/task:0"):
            assert own.executor.submit(os.getpid).result(timeout=120) != pid
