"""A task that stands still: frozen it answers nobody, thawed it is the same process; tasks of others are left be."""

import os
import signal
import time

import psutil
import pytest

from course.cluster.multihost.connect import RemoteRuntime

WORKER = "/job:worker/task:0"


@pytest.fixture
def cluster(shared_cluster):
    return shared_cluster


def ask(cluster, function=os.getpid):
    with cluster.at(WORKER):
        return cluster.executor.submit(function)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot freeze a process")
def test_a_frozen_task_answers_when_it_is_thawed_and_is_the_same_process(cluster):
    pid = ask(cluster).result(timeout=60)
    cluster.freeze(WORKER)
    deadline = time.monotonic() + 60  # a signal is delivered when the process gets its turn
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    waiting = ask(cluster)
    with pytest.raises(TimeoutError):
        waiting.result(timeout=0.5)
    cluster.thaw(WORKER)
    assert waiting.result(timeout=60) == pid


def test_to_thaw_a_task_that_is_not_frozen_changes_nothing(cluster):
    pid = ask(cluster).result(timeout=60)
    cluster.thaw(WORKER)
    assert ask(cluster).result(timeout=60) == pid


@pytest.mark.parametrize("method", ["freeze", "thaw"])
def test_a_task_that_does_not_exist_is_named(cluster, method):
    with pytest.raises(ValueError, match=f"cluster.{method}.*the tasks of this cluster are .*{WORKER}"):
        getattr(cluster, method)("/job:worker/task:5")


@pytest.mark.parametrize("method", ["freeze", "thaw"])
def test_tasks_started_elsewhere_are_not_ours_to_freeze(method):
    with pytest.raises(RuntimeError, match=f"cluster.{method}: these tasks were started elsewhere"):
        object.__new__(RemoteRuntime).signal(WORKER, method)
