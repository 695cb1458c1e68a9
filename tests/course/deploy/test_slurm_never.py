"""Jobs that Slurm takes and would never start, or doesn't take: errors with its reason, and no endless wait."""

import os

import pytest

from course.deploy import deploy
from course.deploy.launcher import DeployError
from tests.course.deploy.slurm_here import need_slurm, slurm_here

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def slurm():
    """A Slurm that takes jobs beyond its partition's limits, as is its default, and four jobs in all."""
    need_slurm()
    changes = {"EnforcePartLimits": "NO", "MaxJobCount": "4"}
    with slurm_here(changes=changes) as here, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(here.configuration))
        patch.setenv("PATH", os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
        yield here


def refused(words, **options):
    with pytest.raises(DeployError, match=words):
        deploy("slurm", interface="lo", say=lambda *_, **__: None, **{"worker": 1} | options)


def test_a_job_beyond_its_partitions_time_is_an_error(slurm):
    refused("worker/task:0 would wait for ever: PartitionTimeLimit. Ask for less", walltime="20:00:00")
    assert slurm.jobs() == {}


def test_more_cores_than_a_node_has_are_an_error(slurm):
    refused("node configuration is not available|would wait for ever", cores=64)


def test_a_partition_that_is_down_is_an_error(slurm):
    slurm.run("scontrol", "update", "partitionname=debug", "state=down")
    try:
        refused("would wait for ever: PartitionDown|partition.*down|not available")
    finally:
        slurm.run("scontrol", "update", "partitionname=debug", "state=up")


def test_a_queue_that_takes_no_more_jobs_is_an_error(slurm):
    refused("Its queue is full|MaxJobCount", worker=6)
    assert slurm.jobs() == {}
