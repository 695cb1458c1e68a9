"""What every cluster of Dask's own deployers is told alike, whatever system it is on."""

from types import SimpleNamespace

import pytest
from distributed.versions import get_versions

from course.deploy import deploy
from course.deploy.clouds.cloud_runtime import CloudRuntime
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries, new_entry

#: The options that a kind has no default for.
IMAGE = {"image": "course:1"}
AZURE = {
    "group": "course",
    "vnet": "course",
    "subscription": "0" * 8 + "-0000-0000-0000-" + "0" * 12,
    "identity": "none",
}
NEEDED = {"gateway": {}, "gcp": {**IMAGE, "project": "my-course-1234"}, "azure": {**IMAGE, **AZURE}}


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


@pytest.mark.parametrize("kind", CLOUDS)
def test_a_missing_extra_is_told_with_the_line_that_brings_it(kind, monkeypatch):
    monkeypatch.setattr(CLOUDS[kind], "library", "no_such_library")
    with pytest.raises(ImportError, match=rf"`python -m pip install 'course\[{kind}\]'` brings it"):
        deploy(kind, **NEEDED.get(kind, IMAGE))
    assert entries() == []


@pytest.mark.parametrize("kind", CLOUDS)
def test_a_parameter_server_is_refused_with_where_to_have_one(kind):
    with pytest.raises(ValueError, match=r"it has workers only, .* Train on deploy\('slurm', ps=1, …\)"):
        deploy(kind, ps=1, worker=2)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"address": "gateway.example.org"}, ValueError, r"address='gateway.example.org'\): .*with its scheme"),
        ({"auth": "password"}, ValueError, r"auth='password'\): give 'basic', 'jupyterhub', 'kerberos'"),
        ({"options": "worker_cores=2"}, TypeError, r"options='worker_cores=2'\): give a dictionary"),
        ({"adress": "https://a"}, TypeError, r"Did you mean address\?"),
        ({"worker": True}, ValueError, r"worker=True\): give a whole number of workers"),
    ],
)
def test_a_wrong_option_of_a_gateways_is_told_before_anyone_is_asked(given, error, words):
    with pytest.raises(error, match=words):
        deploy("gateway", **given)
    assert entries() == []
