"""A Slurm that keeps accounts, with its own slurmdbd and MariaDB: what it refuses, and limits that hold a job back.

`make sites`. Its packages are no part of what the other tests need: without them this is skipped, aloud.
"""

import functools
import time

import pytest
import torch

from course import estimate_pi, linear_regression, train
from course.deploy import deploy
from course.deploy.launcher import DeployError
from tests.course.deploy.slurm_here import need_slurm, slurm_here
from tests.helpers.shells import eventually
from tests.slow.deploy.accounting_here import Accounting, need_accounting
from tests.slow.deploy.storm import home, leftovers

need_slurm()
need_accounting()

SGD = functools.partial(torch.optim.SGD, lr=0.05)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A Slurm that enforces accounts and limits; `few` is a QOS in which a user may have two jobs at a time."""
    data_base = Accounting()
    folder = tmp_path_factory.mktemp("home")
    with slurm_here(changes=data_base.changes, before=data_base.start) as here, home(here, folder):
        here.run("sacctmgr", "-i", "add", "qos", "few", "MaxJobsPerUser=2")
        here.run("sacctmgr", "-i", "modify", "user", here.owner, "set", "QOS+=few")
        yield here
        assert leftovers(here, folder) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"account": "chemistry"}, "`sbatch` says: .*Invalid account or account/partition combination specified"),
        ({"account": "physics", "qos": "endless"}, "`sbatch` says: .*Invalid qos specification"),
    ],
)
def test_an_account_or_a_qos_that_one_has_not_is_refused_in_slurms_own_words_within_ten_seconds(slurm, options, words):
    began = time.monotonic()
    with pytest.raises(DeployError, match=words):
        deploy("slurm", worker=1, interface="lo", **options)
    assert time.monotonic() - began < 10


def test_a_job_beyond_a_limit_of_its_qos_waits_with_the_limit_as_its_reason_and_the_others_work(slurm):
    said = []
    options = {"account": "physics", "qos": "few", "interface": "lo"}
    with deploy("slurm", ps=1, worker=2, wait=False, say=lambda line, **_: said.append(line), **options) as cluster:
        eventually(lambda: len(cluster.missing()) == 1)
        eventually(lambda: any("waits for its turn: QOSMaxJobsPerUserLimit" in line for line in said))
        assert estimate_pi(10**5, executor=cluster.executor) == estimate_pi(10**5)
        jobs = slurm.run("squeue", "--noheader", "--format=%a|%q|%r").split()
        assert sorted(jobs) == [*["physics|few|None"] * 2, "physics|few|QOSMaxJobsPerUserLimit"]
        slurm.run("sacctmgr", "-i", "modify", "qos", "few", "set", "MaxJobsPerUser=3")
        eventually(lambda: not cluster.missing())
        assert train(linear_regression(), cluster, optimizer=SGD, total_steps=100).version == 100
    kept = slurm.run("sacct", "--noheader", "--allocations", "--parsable2", "--format=Account,QOS,State").split("\n")
    assert [line for line in kept if line.startswith("physics|few|CANCELLED")][2:]
