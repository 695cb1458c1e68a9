"""A cluster on a real SSH server: work, training, a killed task; and who is not let in hears why, and what to do."""

import functools
import json
import logging
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course import linear_regression, train
from course.cluster.multihost import handshake
from course.deploy import deploy
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries
from course.deploy.options import DEPLOYED_IDLE
from tests.helpers.shells import eventually

WORKER = "/job:worker/task:0"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key": "stranger"}, "does not let us in .*`ssh-copy-id -p"),
        ({"known_hosts": "/dev/null"}, r"is not in your list of known hosts, /dev/null\. Say `ssh -p"),
        ({"known_hosts": "changed"}, r"HAS CHANGED: .* stop here\. .*`ssh-keygen -R '\[127.0.0.1\]:\d+' -f .*changed`"),
        ({"key": "locked"}, "The key .*locked has a passphrase: say `ssh-add .*locked` first"),
        ({"hosts": ["127.0.0.1:9"]}, r"127.0.0.1:9 can't be reached by SSH: .* `ssh -p 9 127.0.0.1` says more"),
        ({"hosts": ["no.such.host.invalid"]}, "can't be reached by SSH"),
        pytest.param(
            {"python": "bare"},
            "(?s)ended 3 times before it joined: .*No module named.*Name its Python by python=",
            marks=pytest.mark.long,
        ),
    ],
)
def test_who_is_not_let_in_by_ssh_hears_the_next_step(sshd, change, words, tmp_path):
    bare = tmp_path / "python"  # one that has no packages
    bare.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S "$@"\n')
    bare.chmod(0o755)
    changed = tmp_path / "changed"
    changed.write_text(f"[{sshd.address}]:{sshd.port} {Path(f'{sshd.stranger}.pub').read_text()}")
    places = {"stranger": sshd.stranger, "bare": str(bare), "changed": str(changed), "locked": locked(sshd, tmp_path)}
    options = sshd.options | {name: places.get(str(value), value) for name, value in change.items()}
    with pytest.raises(DeployError, match=words):
        deploy("ssh", worker=1, interface="lo", say=lambda *_, **__: None, **options)
    assert not entries()


def locked(sshd, folder):
    """Return the file of the server's own key, which a passphrase protects there."""
    file = folder / "locked"
    file.write_text(Path(sshd.key).read_text())
    file.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "a secret", "-f", file], check=True, timeout=60)
    return str(file)


@pytest.mark.long
def test_a_key_with_a_passphrase_is_used_when_the_agent_has_it(sshd, tmp_path, monkeypatch):
    with subprocess.Popen(["ssh-agent", "-D", "-a", tmp_path / "agent"], stdout=subprocess.DEVNULL) as agent:
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
            eventually((tmp_path / "agent").exists)
            subprocess.run(["ssh-add", "-q", sshd.key], check=True, timeout=60)  # the same key, as `ssh-add` opened it
            options = sshd.options | {"key": locked(sshd, tmp_path)}
            with deploy("ssh", worker=1, interface="lo", say=lambda *_, **__: None, **options) as cluster:
                assert cluster.tasks == [WORKER]
        finally:
            agent.terminate()


def test_a_host_that_never_answers_is_told_with_the_next_step(sshd, monkeypatch):
    monkeypatch.setattr("course.deploy.ssh.SSH_ANSWERS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = [f"127.0.0.1:{silent.getsockname()[1]}"]
        with pytest.raises(DeployError, match="has not answered for .* Is it on, and does no firewall keep us out"):
            deploy("ssh", worker=1, interface="lo", **sshd.options | {"hosts": hosts})
    assert not entries()


def test_a_host_with_other_versions_is_refused_in_a_sentence(sshd, monkeypatch):
    other = {**handshake.versions(), "torch": "0.1"}
    monkeypatch.setattr(handshake, "versions", lambda: other)
    with pytest.raises(DeployError, match="may not join: this task has torch .*, the scheduler torch 0.1. Install"):
        deploy("ssh", worker=1, interface="lo", say=lambda *_, **__: None, **sshd.options)
    assert not entries()


@pytest.fixture
def cluster(request, sshd, caplog):
    """A worker; and the jobs of the test's parameter, where it has one."""
    caplog.set_level(logging.INFO, "course.deploy")
    jobs = {"worker": 1} | getattr(request, "param", {})
    with deploy("ssh", **jobs, interface="lo", say=lambda *_, **__: None, **sshd.options) as made:
        yield made
    assert not entries()
    records = [record for when in ("setup", "call") for record in caplog.get_records(when)]
    assert [record for record in records if record.levelno >= logging.WARNING] == []


def test_over_ssh_a_killed_task_is_replaced_and_a_cluster_without_work_closes_itself(cluster, sshd, caplog):
    first = pid_of(cluster)
    start = "\n".join(record.getMessage() for record in caplog.get_records("setup"))
    assert f"{WORKER} is started as a process on {sshd.host}" in start and f"{WORKER} has joined from" in start
    cluster.kill(WORKER)
    assert pid_of(cluster) != first
    eventually(lambda: cluster.log(WORKER).count(f"{WORKER} listens at") == 2)
    assert f"{WORKER} is lost (" in caplog.text and f"{WORKER} has joined from" in caplog.text
    assert cluster._runtime._keeper._idle == DEPLOYED_IDLE
    cluster._runtime._keeper._idle = 0.1  # seconds
    eventually(lambda: "it has had no work for 0.1 s; deploy it again" in (cluster._work.closed or ""))


@pytest.mark.long
@pytest.mark.parametrize("cluster", [{"ps": 1}], indirect=True, ids=["ps"])
def test_over_ssh_a_training_runs_and_a_task_is_restarted_and_frozen(cluster):
    pids = [pid_of(cluster)]
    cluster.restart(WORKER)
    pids.append(pid_of(cluster))
    assert len(set(pids)) == 2
    with cluster.at(WORKER):
        assert cluster.executor.submit(os.getenv, "SSH_CONNECTION").result(60).startswith("127.0.0.1")
    sgd = functools.partial(torch.optim.SGD, lr=0.05)
    assert train(linear_regression(), cluster, optimizer=sgd, total_steps=50).version == 50
    cluster.freeze(WORKER)
    cluster.thaw(WORKER)
    assert pid_of(cluster) == pids[-1]


def pid_of(cluster):
    with cluster.at(WORKER):
        return cluster.executor.submit(os.getpid).result(60)


@pytest.mark.long
def test_a_job_from_a_file_trains_on_the_hosts_that_it_names(sshd, tmp_path):
    cluster = {"where": "ssh", "ps": 1, "worker": 1, "interface": "lo", **sshd.options}
    lines = [
        'name = "far"',
        "[train]",
        "steps = 30",
        "[cluster]",
        *(f"{k} = {json.dumps(v)}" for k, v in cluster.items()),
    ]
    (tmp_path / "job.toml").write_text("\n".join(lines))
    command = [sys.executable, "-m", "course", "job", str(tmp_path / "job.toml"), "--wait"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "30 of 30 updates" in done.stdout and done.stdout.endswith("far: done\n"), done
    assert not entries()
