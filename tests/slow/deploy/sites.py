"""Slurms as other sites have them: on each a cluster starts, computes, trains, loses tasks, and leaves nothing.

`make sites`: each takes about 15 s.
"""

import functools
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from course import estimate_pi, linear_regression, train
from course.deploy import deploy
from course.deploy.launcher import DeployError
from tests.course.deploy.slurm_here import OTHER, need_slurm, slurm_here
from tests.helpers.cluster.at_step import At
from tests.helpers.shells import eventually
from tests.slow.deploy.storm import home, leftovers

need_slurm()

SGD = functools.partial(torch.optim.SGD, lr=0.05)
PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@dataclass(frozen=True)
class Site:
    """A site: its Slurm, as `slurm_here` takes it, and what whoever deploys there has to say."""

    changes: Mapping[str, str | None] = field(default_factory=dict)
    nodes: int = 1
    files: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


SLOW_SQUEUE = '#!/bin/sh\nsleep 3\nexec /usr/bin/squeue "$@"\n'
#: A folder of each job's own, made and removed by the site.
OWN_TMP = {
    "before": "#!/bin/sh\nmkdir -p {folder}/tmp.$SLURM_JOB_ID && chown $SLURM_JOB_UID {folder}/tmp.$SLURM_JOB_ID\n",
    "task": "#!/bin/sh\necho export TMPDIR={folder}/tmp.$SLURM_JOB_ID\n",
    "after": "#!/bin/sh\nrm -rf {folder}/tmp.$SLURM_JOB_ID\n",
}
TWO_PARTITIONS = "short Nodes=ALL MaxTime=10 State=UP\nPartitionName=long Nodes=ALL Default=YES MaxTime=60 State=UP"
SITES = {
    "another": Site(OTHER, nodes=2, options={"walltime": "00:02:00"}),
    "whole nodes": Site({"SelectType": "select/linear", "SelectTypeParameters": None}, nodes=4),
    "whole nodes and memory": Site({"SelectType": "select/linear", "SelectTypeParameters": "CR_Memory"}, nodes=4),
    "no default memory": Site({"SelectTypeParameters": "CR_CPU"}, options={"memory": None}),
    "all cores": Site({"SelectTypeParameters": "CR_Core_Memory"}, options={"memory": None}, nodes=4),
    "two partitions": Site({"PartitionName": TWO_PARTITIONS}, options={"partition": "short,long", "walltime": "5"}),
    "jobs forgotten at once": Site({"MinJobAge": "2"}),
    "others hidden": Site({"PrivateData": "jobs,nodes,partitions"}),
    "slow squeue": Site(files={"squeue": SLOW_SQUEUE}),
    "own tmp": Site(
        {"Prolog": "{folder}/before", "TaskProlog": "{folder}/task", "Epilog": "{folder}/after"},
        files=OWN_TMP,
        options={"scratch": "$TMPDIR"},
    ),
    "walltime asked": Site({"JobSubmitPlugins": "require_timelimit"}, options={"walltime": "00:10:00"}),
    "names cut": Site(
        {"JobSubmitPlugins": "lua"},
        files={
            "job_submit.lua": "function slurm_job_submit(job, parts, uid) job.name = string.sub(job.name, 1, 8); "
            "return slurm.SUCCESS end\nfunction slurm_job_modify(job, was, parts, uid) return slurm.SUCCESS end\n"
        },
    ),
    "memory refused": Site(
        {"JobSubmitPlugins": "lua"},
        files={
            "job_submit.lua": "function slurm_job_submit(job, parts, uid) if job.pn_min_memory ~= slurm.NO_VAL64 then "
            "slurm.log_user('do not ask for memory here'); return slurm.ERROR end; return slurm.SUCCESS end\n"
            "function slurm_job_modify(job, was, parts, uid) return slurm.SUCCESS end\n"
        },
        nodes=4,  # a job takes all of a node's memory where neither it nor the site says how much
        options={"memory": None},
    ),
}


@pytest.fixture
def at(tmp_path, monkeypatch):
    """A function: within `with at(site)` this process's commands are for a Slurm of that site; it leaves nothing."""

    @contextmanager
    def there(site):
        with slurm_here(nodes=site.nodes, changes=site.changes, files=site.files) as slurm:
            monkeypatch.setenv("PATH", os.pathsep.join([str(slurm.folder), os.environ["PATH"]]))
            with home(slurm, tmp_path / "state"):
                yield slurm
                assert leftovers(slurm, tmp_path / "state") == []

    return there


@pytest.mark.parametrize("name", SITES)
def test_a_cluster_lives_on_a_slurm_of_another_site(name, at):
    site = SITES[name]
    said = []
    with at(site) as slurm:
        with deploy(
            "slurm", ps=1, worker=2, interface="lo", say=lambda line, **_: said.append(line), **site.options
        ) as cluster:
            assert estimate_pi(10**6, executor=cluster.executor) == estimate_pi(10**6)
            cancel = At(100, lambda: slurm.run("scancel", slurm.job_of(FIRST)))
            result = train(linear_regression(), cluster, optimizer=SGD, total_steps=2_000, hooks=[cancel])
            assert result.version == 2_000
            cluster.kill(SECOND)
            eventually(lambda: any(f"{SECOND} is lost" in line for line in said))
            eventually(lambda: not cluster.missing())
            assert estimate_pi(10**6, executor=cluster.executor) == estimate_pi(10**6)
            tasks = [comment for _, comment in slurm.jobs().values()]
            assert sorted(tasks) == [PS, FIRST, SECOND], said


def cluster_of(said, **options):
    return deploy("slurm", interface="lo", say=lambda line, **_: said.append(line), **options)


#: A job's credential lasts so long, else two minutes. Until it has expired, Slurm starts no requeued job again; one
#: that is started before that ("StartTime=now") may be refused by its node, as the old credential is revoked.
REQUEUES_SOON = {"AuthInfo": "socket={folder}/munge.socket,cred_expire=20"}


@pytest.mark.parametrize("task", [FIRST, PS])
def test_a_requeued_job_comes_back_under_its_name_and_the_training_goes_on(task, at, tmp_path):
    """Its administrator's word, as a node that fails would have it; Slurm starts it again by itself."""
    said = []
    with at(Site(REQUEUES_SOON)) as slurm, cluster_of(said, ps=1, worker=2, requeue=True) as cluster:

        def requeue():
            job = slurm.job_of(task)
            slurm.run("scontrol", "requeue", job)
            eventually(lambda: slurm.jobs()[job][0] == "PENDING")

        settings = {"total_steps": 2_000, "checkpoint_dir": tmp_path / "checkpoints"}  # KillWait is short here
        result = train(linear_regression(), cluster, optimizer=SGD, hooks=[At(100, requeue)], **settings)
        assert result.version == 2_000
        eventually(lambda: not cluster.missing())
        assert sorted(name for _, name in slurm.jobs().values()) == sorted(cluster.tasks), said
        assert "DUE TO JOB REQUEUE" in cluster.log(task) and cluster.log(task).count(f"{task} listens at") >= 2


PREEMPTED = REQUEUES_SOON | {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "PartitionName": "low Nodes=ALL Default=YES PriorityTier=1 MaxTime=60 State=UP PreemptMode=REQUEUE\n"
    "PartitionName=high Nodes=ALL PriorityTier=2 MaxTime=60 State=UP PreemptMode=OFF",
}


@pytest.mark.parametrize("requeue", [True, False])
def test_preempted_jobs_wait_with_their_reason_and_come_back(requeue, at):
    said = []
    with at(Site(PREEMPTED)) as slurm:
        with cluster_of(said, ps=1, worker=2, requeue=requeue) as cluster:
            before = slurm.jobs()
            other = ["sbatch", "--parsable", "-p", "high", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 600"]
            number = slurm.run(*other).strip()
            eventually(lambda: len(cluster.missing()) == 3)
            eventually(lambda: sum("waits for its turn" in line for line in said) >= 2)  # with Slurm's reason
            slurm.run("scancel", number)
            eventually(lambda: not cluster.missing(), 200)
            assert sorted(name for _, name in slurm.jobs().values()) == sorted(cluster.tasks), said
            assert bool(before.keys() & slurm.jobs().keys()) == requeue, said
            assert estimate_pi(10**5, executor=cluster.executor) == estimate_pi(10**5)


def test_a_prolog_that_fails_is_told_with_what_the_node_is_in(at):
    said = []
    with at(Site({"Prolog": "{folder}/prolog"}, files={"prolog": "#!/bin/sh\nexit 1\n"})):
        with pytest.raises(TimeoutError, match="waits for its turn: .*DOWN, DRAINED"):
            cluster_of(said, worker=1, timeout=15)
    assert any("its log ends: Error running slurm prolog: 1" in line for line in said), said


def test_a_queue_that_is_full_is_told_in_slurms_words(at):
    began = time.monotonic()
    with at(Site({"MaxJobCount": "3"})):
        words = "has not answered `sbatch` for 8 s; it says: .*temporarily unable to accept job"
        with pytest.raises(DeployError, match=words):
            cluster_of([], ps=1, worker=3)
    assert time.monotonic() - began < 60


def test_a_limit_that_is_not_enforced_at_once_is_told_as_a_reason_to_wait(at):
    with at(Site({"EnforcePartLimits": "NO"})):
        with pytest.raises(TimeoutError, match="waits for its turn: PartitionTimeLimit"):
            cluster_of([], worker=1, walltime="20:00:00", timeout=5)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("memory refused", {"memory": "1GB"}, "do not ask for memory here"),
        ("walltime asked", {}, "Time limit specification required, but not provided"),
    ],
)
def test_what_a_sites_own_plugin_refuses_is_told_in_its_words(name, options, words, at):
    with at(SITES[name]), pytest.raises(DeployError, match=words):
        cluster_of([], worker=1, **options)


IN_A_JOB = """
from course import estimate_pi
from course.deploy import deploy
with deploy("slurm", worker=1, interface="lo") as cluster:
    assert estimate_pi(10**5, executor=cluster.executor) == estimate_pi(10**5)
    print("THE SAME", flush=True)
"""


def test_a_client_may_itself_be_a_job_as_where_login_nodes_end_long_processes(at, tmp_path):
    (tmp_path / "client.py").write_text(IN_A_JOB)
    with at(Site()) as slurm:
        words = ["srun", "--mem=1G", "--gres=gpu:1", "--cpus-per-task=2", sys.executable, str(tmp_path / "client.py")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert "THE SAME" in done.stdout, done
        eventually(lambda: not slurm.jobs())
