"""Every cluster of Dask's own deployers compares its versions with this process's, whatever system it is on."""

from types import SimpleNamespace

import pytest
from distributed.versions import get_versions

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
    checked(scheduler={"torch": None})  # it runs none of our functions


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"worker": {"course": None}}, "tcp://10.0.0.1:1 has course None, this process course 0"),
        ({"worker": {"torch": "1.0"}}, "tcp://10.0.0.1:1 has torch 1.0"),
        ({"worker": {"python": "3.8.1.final.0"}}, "has python 3.8, this process python 3"),
        ({"scheduler": {"distributed": "2020.1"}}, "the scheduler has distributed 2020.1"),
        ({"scheduler": {"course": None}}, "the scheduler has course None"),
    ],
)
def test_other_versions_on_a_cloud_are_refused(changes, words):
    with pytest.raises(DeployError, match=words):
        checked(**changes)
