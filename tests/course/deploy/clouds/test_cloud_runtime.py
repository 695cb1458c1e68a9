"""Every cluster of Dask's own deployers compares its versions with this process's, whatever system it is on."""

from types import SimpleNamespace

import pytest
from distributed import LocalCluster
from distributed.versions import get_versions

from course import log_placement
from course.deploy.clouds.cloud_cluster import CloudCluster
from course.deploy.clouds.cloud_runtime import CloudRuntime
from course.deploy.launcher import DeployError
from course.deploy.ledger import new_entry


def checked(scheduler=None, worker=None):
    """Have a runtime compare this process's versions with those of a scheduler and a worker, these changed."""
    runtime = CloudRuntime(new_entry("gateway", ("/job:worker/task:0",)), deployer=None, say=print)
    told = [get_versions(("course", "torch")) for _ in range(2)]
    for one, changes in zip(told, (scheduler, worker), strict=True):
        one["packages"] |= changes or {}
    answer = {"scheduler": told[0], "workers": {"tcp://10.0.0.1:1": told[1]}}
    runtime._client = SimpleNamespace(get_versions=lambda packages: answer)
    runtime._check_versions()


def test_the_same_versions_are_taken():
    checked()
    checked(scheduler={"torch": None, "course": None})  # it runs none of our functions


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"worker": {"course": None}}, "tcp://10.0.0.1:1 has course None, this process course 0"),
        ({"worker": {"torch": "1.0"}}, "tcp://10.0.0.1:1 has torch 1.0"),
        ({"worker": {"python": "3.8.1.final.0"}}, "has python 3.8, this process python 3"),
        ({"scheduler": {"distributed": "2020.1"}}, "the scheduler has distributed 2020.1"),
    ],
)
def test_other_versions_on_a_cloud_are_refused(changes, words):
    with pytest.raises(DeployError, match=words):
        checked(**changes)


def test_inside_a_placement_log_workers_of_dasks_own_work_as_ever():
    alone = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**alone) as workers, workers.get_client() as client, log_placement() as log:
        runtime = SimpleNamespace(watch=lambda client, work: lambda: None, thread=None, close=lambda: None)
        cluster = CloudCluster(client, runtime)
        cluster._closing.detach()  # nothing of it is to be closed but what closes itself here
        assert cluster.executor.submit(sum, [1, 2]).result(timeout=20) == 3
    assert len(log) == 0
