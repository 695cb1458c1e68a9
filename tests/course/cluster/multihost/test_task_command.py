"""`python -m course task` and `connect`: a cluster whose members are started one by one, on loopback."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.cluster import ClusterSpec, connect
from course.cluster.certificates import read_certificate, write_certificate
from course.cluster.multihost import heartbeat
from tests.helpers.shells import Members, eventually


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("by-hand")


@pytest.fixture
def members(folder):
    with Members("--spec", folder / "cluster.toml") as members:
        yield members


def write_spec(folder, free_ports):
    scheduler, *tasks = (f"localhost:{port}" for port in free_ports(3))
    text = f'scheduler = ["{scheduler}"]\nworker = ["{tasks[0]}", "{tasks[1]}"]\n'
    (folder / "cluster.toml").write_text(text)
    return ClusterSpec.read(folder / "cluster.toml")


def test_a_cluster_started_by_hand_works_and_stops_cleanly(folder, members, free_ports, monkeypatch):
    spec = write_spec(folder, free_ports)
    command = CliRunner().invoke(main, ["certificate", str(folder / "cluster.pem")])
    assert command.exit_code == 0 and "readable by you only" in command.output
    first, scheduler = members.start("worker", 0), members.start("scheduler")
    second = members.start("worker", 1, "--log-level", "info")
    target = f"tls://{resolved(spec.scheduler)}"
    assert scheduler.says("listens") == f"the scheduler listens; session target {target}"
    for index, member in enumerate([first, second]):
        address = resolved(spec.task_address("worker", index))
        ready = f"/job:worker/task:{index} listens at tls://{address}; session target tls://{spec.scheduler}"
        assert member.says(" listens at").endswith(ready)

    with connect(spec, security=folder / "cluster.pem") as cluster:
        assert cluster.tasks == ["/job:worker/task:0", "/job:worker/task:1"]
        with cluster.at("/job:worker/task:1"):
            assert cluster.executor.submit(os.getpid).result(timeout=60) == second.pid
        with pytest.raises(ValueError, match="the tasks of this cluster are"):
            cluster.at("/job:worker/task:2")
        with pytest.raises(RuntimeError, match="started elsewhere"):
            cluster.kill("/job:worker/task:1")
        assert repr(cluster) == "Cluster(worker=2)"

    with connect(f"localhost:{spec.scheduler.rpartition(':')[2]}", security=folder / "cluster.pem") as cluster:
        with cluster.at("/job:worker/task:1"):
            busy = cluster.executor.submit(time.sleep, 1000)  # must not hold up the ends below
        time.sleep(0.3)
        second.signal(signal.SIGTERM)
        first.signal(signal.SIGINT)
        assert first.ends() == 0 and "listens at" in first.lines[-1]
        assert second.ends() == 0 and in_log(second) == ["starts: process", "has joined", "leaves"]
        monkeypatch.setattr(heartbeat, "SCHEDULER_SILENCE", 1.0)  # from now on: a busy machine may be slower to answer
        scheduler.signal(signal.SIGKILL)
        # which of the two sees it first is the machine's affair: Dask's client, or the course's question
        with pytest.raises(RuntimeError, match="connection to the scheduler was lost|has not answered for 1 s"):
            busy.result(timeout=60)
        with pytest.raises(RuntimeError, match=r"the scheduler at .* has not answered for 1 s; connect again"):
            while True:
                cluster.executor.submit(pow, 2, 2)
                time.sleep(0.1)


def in_log(member):
    """The words after the task's name in the log that a member has printed, which has no other lines."""
    lines = [line for line in member.lines if " INFO " in line]
    words = [re.fullmatch(r".* INFO course\.cluster\.\S+: /job:worker/task:1 (.*)", line)[1] for line in lines]
    return [re.match("starts: process|has joined|leaves", line)[0] for line in words]


def resolved(address):
    return address.replace("localhost", "127.0.0.1")


@pytest.mark.long
def test_a_task_without_a_scheduler_waits_no_longer_than_its_patience_and_says_why(folder, members, free_ports):
    spec = write_spec(folder, free_ports)
    member = members.start("worker", 0, "--insecure", "--patience", "1")
    assert member.ends() == 1
    assert f"/job:worker/task:0 did not join tcp://{spec.scheduler} within 1 s" in member.text
    assert "Is the scheduler up" in member.text and "Traceback" not in member.text


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system does not list a process's signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.0, 3.0])  # it imports; it waits for its scheduler
def test_a_task_stops_cleanly_whatever_it_is_doing(folder, members, free_ports, number, seconds):
    write_spec(folder, free_ports)
    member = members.start("worker", 0, "--insecure")
    eventually(lambda: catches_sigterm(member.pid))  # before its first line the signal is Python's own affair
    time.sleep(seconds)
    member.signal(number)
    assert member.ends() == 0 and "Traceback" not in member.text


def catches_sigterm(pid):
    """Whether the process handles SIGTERM, by the bits that Linux lists."""
    caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())[1]
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1


@pytest.mark.long
def test_a_task_that_tries_to_join_again_stops_cleanly(folder, members, free_ports):
    write_spec(folder, free_ports)
    scheduler, worker = members.start("scheduler", 0, "--insecure"), members.start("worker", 0, "--insecure")
    worker.says("listens at")
    scheduler.signal(signal.SIGTERM)
    again = worker.says("it tries for 60 s to join again")  # which of the two saw the end first is the machine's affair
    worker.signal(signal.SIGTERM)
    assert worker.ends() == 0 and worker.lines[-1] == again


@pytest.mark.long
def test_the_classic_flags_start_the_scheduler_inside_the_first_ps(members, free_ports):
    ps, worker = (f"127.0.0.1:{port}" for port in free_ports(2))
    flags = ["--ps-hosts", ps, "--job-hosts", f"local={worker}", "--insecure"]
    first = members.start("ps", shared=flags)
    local = members.start("local", 0, "--simulated-gpus", "2", shared=flags)
    spec = ClusterSpec.from_flags(ps_hosts=ps, local_hosts=worker)
    assert first.says("the scheduler") == f"the scheduler listens; session target tcp://{spec.scheduler}"
    first.says(f"/job:ps/task:0 listens at tcp://{ps}; session target tcp://{spec.scheduler}")
    local.says(f"/job:local/task:0 listens at tcp://{worker}")
    with connect(spec, insecure=True) as cluster, cluster.at("/job:local/task:0/gpu:1"):
        assert (
            cluster.executor.submit(lambda: str((__import__("torch").ones(1) + 1).device)).result(timeout=60)
            == "cuda:1"
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--job", "wroker", "--insecure"], "no job 'wroker'; the jobs are scheduler, worker"),
        (["--job", "worker", "--ps-hosts", "a:1"], "give the cluster by --spec FILE, or by --ps-hosts"),
        (["--job", "worker", "--job-hosts", "local"], "as in --job-hosts local=a:2222,b:2222"),
        (["--job", "worker", "--index", "7", "--insecure"], "the tasks of worker are 0 to 1"),
        (["--job", "worker", "--certificate", "none.pem"], "Make one by `python -m course certificate none.pem`"),
        (["--job", "worker", "--certificate", "{spec}"], "must hold a CERTIFICATE and a PRIVATE KEY"),
    ],
)
def test_a_wrong_command_is_told_what_is_legal(folder, free_ports, arguments, words):
    write_spec(folder, free_ports)
    spec = str(folder / "cluster.toml")
    os.chmod(spec, 0o600)
    done = CliRunner().invoke(main, ["task", "--spec", spec, *(word.replace("{spec}", spec) for word in arguments)])
    assert done.exit_code == 1
    assert words in done.output and "Traceback" not in done.output


def test_plain_tcp_is_for_loopback_only(tmp_path):
    (tmp_path / "c.json").write_text('{"scheduler": ["10.0.0.1:1"], "worker": ["10.0.0.2:1"]}')
    done = CliRunner().invoke(main, ["task", "--spec", str(tmp_path / "c.json"), "--job", "worker", "--insecure"])
    assert done.exit_code == 1 and "10.0.0.2:1 is not on loopback" in done.output


def test_a_certificate_is_for_its_owners_eyes_and_never_overwritten(tmp_path):
    path = tmp_path / "c.pem"
    made = write_certificate(path)
    assert read_certificate(path) == made
    assert "PRIVATE" not in repr(made)
    with pytest.raises(FileExistsError, match="remove it or name another"):
        write_certificate(path)
    assert CliRunner().invoke(main, ["certificate", str(path)]).exit_code == 1
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("target", "settings", "words"),
    [
        ("localhost:1", {}, "insecure=True on loopback"),
        ("nonsense", {"insecure": True}, "give a ClusterSpec or an address"),
        ("tcp://localhost:1", {"security": "x.pem"}, "for plain TCP say insecure=True"),
        (ClusterSpec({"worker": ["localhost:1"]}), {"insecure": True}, "names no scheduler"),
        (3, {"insecure": True}, "give a ClusterSpec or an address"),
    ],
)
def test_connect_refuses_what_it_cannot_mean(target, settings, words):
    with pytest.raises(ValueError, match=words):
        connect(target, **settings)


def test_connect_gives_up_in_time(free_ports):
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="no scheduler answered within 0.5 s"):
        connect(f"127.0.0.1:{free_ports(1)[0]}", insecure=True, timeout=0.5)
    assert time.monotonic() - began < 30
