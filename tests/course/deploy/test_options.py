"""What `deploy` is told: checked before anything starts, and found again in a job's script."""

import asyncio
import dataclasses
import logging
import signal
import sys
from pathlib import Path

import dask
import pytest

from course.cluster.certificates import Certificate
from course.deploy import deploy
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries, new_entry
from course.deploy.options import SlurmOptions, order_for
from course.deploy.slurm import SlurmLauncher, TaskJob
from course.deploy.slurm_command import slurm
from course.deploy.task_order import order_of

pytest.importorskip("dask_jobqueue")

KEY = Certificate("a certificate", "a key")


def script(**options):
    made = SlurmOptions(**options)
    order = order_for("/job:worker/task:3", "tls://10.0.0.1:4000", KEY, {"worker": made})
    return TaskJob(order, made, "course-1", Path("/logs")).job_script()


def test_a_jobs_script_has_what_the_options_say():
    lines = script(
        partition="short",
        account="physics",
        qos="high",
        gres="gpu:1",
        walltime="01:00:00",
        memory="3GB",
        cores=4,
        requeue=True,
        leave_before=60,
        directives=("--exclusive",),
        prologue=("module load python",),
        python="/opt/python",
    ).splitlines()
    asked = {line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")}
    assert asked == {
        "-J course-1",
        "-p short",
        "-A physics",
        "-n 1",
        "--cpus-per-task=4",
        "--mem=3G",
        "-t 01:00:00",
        "--qos=high",
        "--gres=gpu:1",
        "--requeue --open-mode=append",
        "--signal=B:TERM@60",
        "--exclusive",
        "--comment=/job:worker/task:3",
        "-o /logs/worker-3-%j.log",
    }
    command = "exec /opt/python -m course task --job worker --index 3 --deployed <<'COURSE_ORDER'"
    at = lines.index(command)
    assert lines[at - 1] == "module load python" and lines[at + 2] == "COURSE_ORDER"
    order = order_of(lines[at + 1])
    assert order.name == "/job:worker/task:3" and order.certificate == KEY and order.memory == 3_000_000_000


def test_a_script_leaves_to_the_site_what_is_not_asked_for(monkeypatch):
    assert "--mem" not in script(memory=None) and "--no-requeue" in script(memory=None)
    assert "SBATCH -t" not in script()  # where dask-jobqueue asks for half an hour
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__WALLTIME", "02:00:00")
    with dask.config.set({"jobqueue.slurm.walltime": "02:00:00"}):
        assert "#SBATCH -t 02:00:00" in script().splitlines()


def test_dask_jobqueue_has_not_taken_the_interrupt():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_order_comes_back_from_its_line_as_it_was():
    order = order_for(
        "/job:ps/task:0", "tls://h:1", KEY, {"ps": SlurmOptions()}, among=("/job:ps/task:0",), attached=True
    )
    assert order_of(order.line()) == order
    assert dataclasses.replace(order, scratch="x") != order
    with pytest.raises(ValueError, match="this is for `deploy`"):
        order_of("{}")


@pytest.mark.parametrize(
    ("kind", "given", "error", "words"),
    [
        ("lsf", {}, ValueError, "the kinds are 'local', 'slurm', 'ssh'"),
        ("slurm", {"partion": "short"}, TypeError, "whole number, as in worker=2; .* Did you mean partition?"),
        ("slurm", {"worker": 0}, ValueError, "from 1 to 100 tasks"),
        ("slurm", {"scheduler": 1}, ValueError, "every cluster has one scheduler"),
        ("slurm", {"memory": "much"}, ValueError, "memory='4GB'"),
        ("slurm", {"worker": 1, "memory": {"ps": "1GB"}}, ValueError, "there is no job 'ps', only worker"),
        ("slurm", {"prologue": "module load python"}, TypeError, "give a list of texts"),
        ("slurm", {"ports": "4000"}, ValueError, "ports='40000:40100'"),
        ("ssh", {"worker": 1}, ValueError, "name the hosts"),
        ("ssh", {"hosts": "alpha"}, TypeError, "give a list of texts"),
    ],
)
def test_a_wrong_argument_is_told_before_anything_starts(kind, given, error, words):
    with pytest.raises(error, match=words):
        deploy(kind, **given)
    assert entries() == []


@pytest.mark.parametrize(("kind", "library"), [("slurm", "dask_jobqueue.slurm"), ("ssh", "asyncssh")])
def test_without_its_extra_a_system_says_how_to_get_it(kind, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"course.deploy.{kind}", raising=False)
    with pytest.raises(ImportError, match=rf"`python -m pip install 'course\[{kind}\]'` brings it"):
        deploy(kind, worker=1, **({"hosts": ["alpha"]} if kind == "ssh" else {}))
    assert entries() == []


@pytest.mark.parametrize("kind", ["slurm", "ssh", *CLOUDS])
def test_a_machine_that_ends_long_processes_is_told_before_anything_starts(kind):
    resource, said = pytest.importorskip("resource"), []
    before = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (100_000, before[1]))
    try:
        with pytest.raises(ValueError):
            deploy(kind, worker=0, say=said.append)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)
    assert "ends a process after 100,000 s of processor time" in said[0] and "`srun --pty`" in said[0]


def test_a_machine_that_ends_no_process_is_not_spoken_of():
    said = []
    with pytest.raises(ValueError):
        deploy("slurm", worker=0, say=said.append)
    assert said == []


@pytest.mark.parametrize(
    ("requeue", "told", "stage"),
    [
        (False, "COMPLETING", "ended"),
        (True, "COMPLETING", "waiting"),  # it may go back into the queue
        (True, "REQUEUED", "waiting"),
        (True, "PENDING", "waiting"),
        (True, "RUNNING", "running"),
        (True, "FAILED", "ended"),
    ],
)
def test_a_job_that_slurm_ends_is_lost_only_if_it_may_not_come_back(requeue, told, stage, monkeypatch, tmp_path):
    async def answers(command, *_, stdin=""):
        return "site's own line\n41\n" if command == "sbatch" else f"41|{told}|None\n"

    monkeypatch.setattr("course.deploy.slurm.slurm", answers)
    options = {"worker": SlurmOptions(requeue=requeue)}
    launcher = SlurmLauncher(new_entry("slurm", ()), tmp_path, options)
    handle = asyncio.run(launcher.launch(order_for("/job:worker/task:0", "tls://10.0.0.1:4000", KEY, options)))
    found = asyncio.run(launcher.states([handle, "42"]))
    assert handle == "41" and found[handle].stage == stage and found["42"].stage == "ended"


def test_a_machine_without_slurms_configuration_is_told_where_to_go():
    says = "echo 'sbatch: fatal: Could not establish a configuration source' >&2; exit 1"
    with pytest.raises(DeployError, match="a configuration source. Run this on a login node .* SLURM_CONF$"):
        asyncio.run(slurm("sh", "-c", says))
    with pytest.raises(DeployError, match="`sh` says: no such partition$"):
        asyncio.run(slurm("sh", "-c", "echo no such partition >&2; exit 1"))


def test_what_azures_library_logs_is_not_printed_besides():
    import course.deploy.clouds.machines.azure  # noqa: F401

    assert logging.getLogger("azure").handlers  # or else Python prints warnings by itself
