"""A cluster on a real Slurm: names, work, training and tuning; cancelled, waiting and frozen jobs; what is refused."""

import functools
import os
import random
import re
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
import torch
from click.testing import CliRunner
from distributed.core import Status

from course import linear_regression, train, tune
from course.__main__ import main
from course.deploy import deploy
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries, ledger
from course.deploy.options import order_for
from tests.helpers.cluster.at_step import At
from tests.helpers.shells import eventually

SGD = functools.partial(torch.optim.SGD, lr=0.05)
FIRST, SECOND, PS = "/job:worker/task:0", "/job:worker/task:1", "/job:ps/task:0"


class Said(list):
    """What the cluster said, line by line; `then` is called with each."""

    def __init__(self, then=lambda line: None):
        super().__init__()
        self._then = then

    def __call__(self, line, **_):
        self.append(line)
        self._then(line)


@pytest.fixture(scope="module")
def said():
    return Said()


@pytest.fixture(scope="module")
def ports():
    """A range of ports that are free now, as a firewall would leave one open."""
    while True:
        low = random.randrange(20_000, 32_000)  # below those that the system gives out
        try:
            with ExitStack() as held:
                for port in range(low, low + 20):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            return range(low, low + 20)
        except OSError:
            continue


@pytest.fixture(scope="module")
def cluster(slurm, said, ports, tmp_path_factory):
    """A parameter server and two workers with a GPU each; ps jobs ask for less memory than workers do."""
    logs = tmp_path_factory.mktemp("logs")
    settings = {"interface": "lo", "memory": {"ps": "900MB"}, "prologue": ["export FROM_PROLOGUE=yes"]}
    settings |= {"gres": {"worker": "gpu:1"}, "ports": f"{ports[0]}:{ports[-1]}", "requeue": {"worker": True}}
    with deploy("slurm", ps=1, worker=2, say=said, logs=str(logs), **settings) as made:
        yield made
    eventually(lambda: not slurm.jobs())
    assert not entries()
    assert {path.name.rpartition("-")[0] for path in logs.iterdir()} == {"ps-0", "worker-0", "worker-1"}  # they stay


def test_its_tasks_are_jobs_with_the_tasks_names_which_work(cluster, slurm):
    assert cluster.tasks == [PS, FIRST, SECOND] and cluster.missing() == []
    assert {comment: state for state, comment in slurm.jobs().values()} == dict.fromkeys(cluster.tasks, "RUNNING")
    assert list(cluster.executor.map(pow, range(9), [2] * 9)) == [number**2 for number in range(9)]


def test_work_is_pinned_to_a_task_with_the_prologues_environment(cluster):
    with cluster.at(SECOND):
        found = [cluster.executor.submit(os.getenv, name) for name in ("FROM_PROLOGUE", "SLURM_JOB_ID")]
    prologue, job = (one.result(60) for one in found)
    assert prologue == "yes" and job.isdigit()
    eventually(lambda: f"{SECOND} listens at tls://127.0.0.1" in cluster.log(SECOND))


def test_jobs_ask_for_what_their_kind_was_given(cluster, slurm):
    asked = {line.split("|")[0]: line.split("|")[1] for line in slurm.run("squeue", "-h", "-o", "%k|%m").split()}
    assert asked == {PS: "859M", FIRST: "2G", SECOND: "2G"}


def test_each_worker_has_a_gpu_of_its_own_and_the_ps_none(cluster):
    given = cluster.client.run(os.getenv, "CUDA_VISIBLE_DEVICES")
    by_task = {task: given[f"tls://{cluster._runtime.address(task)}"] for task in cluster.tasks}
    assert by_task.pop(PS) is None and set(by_task.values()) == {"0", "1"}


@pytest.mark.long
def test_whatever_listens_does_so_in_the_range_of_ports_a_parameter_server_of_a_training_too(cluster, ports):
    listening = {}

    def look():
        pids = cluster.client.run(os.getpid)  # now: a test before this one may have cost a task its process
        for task in cluster.tasks:
            process = psutil.Process(pids[f"tls://{cluster._runtime.address(task)}"])
            connections = process.net_connections("inet")
            listening[task] = {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}

    train(linear_regression(), cluster, optimizer=SGD, total_steps=20, hooks=[At(1, look)])
    assert {task: len(found) for task, found in listening.items()} == {PS: 2, FIRST: 1, SECOND: 1}
    assert set.union(*listening.values()) <= set(ports)
    assert int(cluster.session_target.rpartition(":")[2]) in ports


@pytest.mark.long
def test_a_training_loses_nothing_when_its_worker_is_cancelled_and_its_ps_told_to_end_as_before_a_walltimes_end(
    cluster, slurm, said
):
    cancel = At(100, lambda: slurm.run("scancel", slurm.job_of(FIRST)))
    tell = At(101, lambda: slurm.run("scancel", "--batch", "--signal=TERM", slurm.job_of(PS)))
    result = train(linear_regression(), cluster, optimizer=SGD, total_steps=4_000, hooks=[cancel, tell])
    lost = next(event for event in result.events if event.what == "ps lost")
    assert "has told it to end" in lost.reason and result.restored_from == lost.step >= 101
    assert result.version == 4_000 and result.incarnations == 2
    assert [int(step) for step in result.history["step"]] == list(range(1, 4_001))
    eventually(lambda: all(any(f"{task} is lost" in line for line in said) for task in (PS, FIRST)))
    eventually(lambda: not cluster.missing())


@pytest.mark.long
def test_a_tuning_runs_its_trials_on_the_jobs(cluster):
    found = tune(linear_regression(), {"learning_rate": (0.01, 0.1)}, cluster, trials=3, steps=20, progress=False)
    assert len(found.trials) == 3


@pytest.mark.long
def test_a_frozen_task_is_replaced_and_its_pinned_work_moves_to_the_successor(cluster, slurm, monkeypatch):
    monkeypatch.setattr("course.deploy.lost_tasks.DEPLOYED_TASK_REJOINS", 0.5)  # seconds, to be through sooner
    before = slurm.job_of(SECOND)
    cluster.freeze(SECOND)
    with cluster.at(SECOND):  # until Slurm has delivered the signal, the job goes on working
        eventually(lambda: cluster.executor.submit(os.getenv, "SLURM_JOB_ID").result(60) not in (before, None))


@pytest.mark.long
def test_a_killed_job_waits_for_a_drained_node_which_is_told_and_comes_back(cluster, slurm, said):
    said.clear()
    slurm.node("drain")
    try:
        cluster.kill(SECOND)
        eventually(lambda: any(f"{SECOND} waits for its turn" in line for line in said))
        assert cluster.missing() == [SECOND]
        with cluster.at(SECOND):
            work = cluster.executor.submit(pow, 2, 10)
        with cluster.at(FIRST):
            assert cluster.executor.submit(pow, 2, 5).result(60) == 32  # the others work
        assert not work.done()
    finally:
        slurm.node("resume")
    assert work.result(120) == 1024 and cluster.missing() == []


def test_no_file_with_the_key_can_be_read_by_others(cluster, slurm, ledger):
    def with_a_key(*folders):
        found = []
        for path in [Path(root, name) for folder in folders for root, _, names in os.walk(folder) for name in names]:
            with suppress(OSError):  # Slurm renames and removes its own meanwhile; some can't be read
                found += [path] if path.is_file() and b"PRIVATE KEY" in path.read_bytes() else []
        return found

    assert with_a_key(Path(os.environ["XDG_STATE_HOME"]), *ledger.getbasetemp().glob("logs*")) == []
    for path in with_a_key(slurm.folder):  # Slurm's own copies of the scripts
        folders = [path.parent, *path.parent.parents]
        assert not path.stat().st_mode & 0o044 or any(not folder.stat().st_mode & 0o011 for folder in folders), path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partition": "nowhere"}, "invalid partition specified: nowhere|Invalid partition name"),
        ({"memory": "900TB"}, "Requested node configuration is not available|Memory required"),
        ({"gres": "fpga:1"}, "Invalid generic resource"),
        ({"gres": "gpu:4"}, "Requested node configuration is not available"),
        ({"walltime": "20:00:00"}, "time limit"),
        ({"directives": ["--nonsense"]}, "unrecognized option"),
    ],
)
def test_what_slurm_refuses_is_told_in_its_own_words(slurm, options, words):
    with pytest.raises(DeployError, match=words):
        deploy("slurm", worker=1, interface="lo", **options)
    assert not list(ledger().glob("*/entry.json")) or len(entries()) == 1


def test_a_slurm_that_does_not_answer_is_told_within_ten_seconds(slurm, monkeypatch):
    monkeypatch.setattr("course.deploy.slurm_command.SLURM_ANSWERS", 0.5)
    slurm.daemons["slurmctld"].send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(DeployError, match="has not answered `sbatch` for .* s; `scontrol ping` says"):
            deploy("slurm", worker=1, interface="lo")
    finally:
        slurm.daemons["slurmctld"].send_signal(signal.SIGCONT)
    eventually(lambda: "UP" in slurm.run("scontrol", "ping"))


def test_waiting_in_the_queue_can_be_interrupted_and_leaves_nothing(cluster, slurm):
    jobs = slurm.jobs()
    said = Said(lambda line: "waits for its turn: Resources" in line and os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        deploy("slurm", worker=1, cores=8, interface="lo", say=said)
    assert slurm.jobs() == jobs and len(entries()) == 1


def test_waiting_for_a_drained_node_is_no_error_and_ends_after_a_time_that_was_asked_for(slurm):
    slurm.node("drain")
    try:
        for timeout in (1.5, 30):  # seconds: in the first, a busy Slurm may not have given a reason yet
            with pytest.raises(TimeoutError) as ended:
                deploy("slurm", worker=1, interface="lo", timeout=timeout, say=Said())
            if "DOWN, DRAINED" in str(ended.value):
                break
        assert re.search("1 tasks are not there yet; .*waits for its turn: .*DOWN, DRAINED", str(ended.value))
    finally:
        slurm.node("resume")


def test_a_task_whose_memory_is_nearly_full_is_told(cluster, said):
    def become(status, dask_worker):
        dask_worker.status = status

    where = ["tls://" + cluster.spec.task_address("worker", 0)]
    cluster.client.run(become, Status.paused, workers=where)
    eventually(lambda: any(f"{FIRST} is paused" in line and "Deploy with more memory" in line for line in said))
    cluster.client.run(become, Status.running, workers=where)
    with cluster.at(FIRST):
        assert cluster.executor.submit(pow, 2, 5).result(60) == 32


def test_a_cluster_is_listed_and_ended_from_another_shell(cluster, slurm):
    jobs = slurm.jobs()
    with deploy("slurm", worker=1, interface="lo", wait=False, say=Said()) as other:
        name = other._runtime._entry.name
        listed = CliRunner().invoke(main, ["deploy", "list"]).output.splitlines()
        assert "there is no 'nothing'" in CliRunner().invoke(main, ["deploy", "stop", "nothing"]).output
        assert len(listed) == 2 and f"{name}  slurm  worker=1" in listed[1] and "its client runs" in listed[1]
        assert CliRunner().invoke(main, ["deploy", "stop", name]).output == f"{name}: ended\n"
        eventually(lambda: "it was ended by `python -m course deploy stop`" in (other._work.closed or ""))
        eventually(lambda: slurm.jobs() == jobs)


@pytest.mark.long
def test_a_firewall_between_a_task_and_its_scheduler_is_told_with_the_next_step(slurm, monkeypatch):
    found, nowhere = Said(), "tls://192.0.2.1:4000"  # kept for documentation: nobody answers

    def elsewhere(name, _, *other):
        return order_for(name, nowhere, *other, patience=1.0)  # seconds, to be through sooner

    monkeypatch.setattr("course.deploy.slurm.order_for", elsewhere)
    with deploy("slurm", worker=1, interface="lo", wait=False, say=found):
        eventually(lambda: any("firewall" in line and "its log ends: " in line for line in found), 120)
    assert any("by interface= or host=, open ports by ports=" in line for line in found)


def test_outside_the_main_thread_slurm_must_have_been_asked_for_before(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("dask_jobqueue", "course.deploy.slurm"))]:
        monkeypatch.delitem(sys.modules, name)
    with ThreadPoolExecutor(1) as thread, pytest.raises(RuntimeError, match="say `import dask_jobqueue` there"):
        thread.submit(deploy, "slurm", worker=1).result()
