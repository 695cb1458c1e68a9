"""The process that deployed a cluster is killed: soon there is no job, process or file of it, wherever they were."""

import json
import os
import pwd
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.deadlines import NOTHING_LEFT
from tests.course.deploy.slurm_here import need_slurm, slurm_here
from tests.helpers.shells import eventually

SOON = 3 * NOTHING_LEFT  # on a machine that does much else
CLIENT = """
import json, os, sys, time
from course.deploy import deploy
kind, away, options = json.loads(sys.argv[1])
cluster = deploy(kind, wait=False, interface="lo", say=lambda *_, **__: None, **options)
while len(cluster.missing()) > away:
    time.sleep(0.05)
pids = [*cluster.client.run(os.getpid).values(), os.getpid()]
print(json.dumps(pids), flush=True)
time.sleep(600)
"""


@contextmanager
def client(kind, away, options, home, user=None, environment=(), python=sys.executable):
    """Within the `with`, a client that deployed a cluster of which `away` tasks wait; gives it and its tasks' pids."""
    names = {"XDG_STATE_HOME": str(home / "state"), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [python, "-c", CLIENT, json.dumps([kind, away, options])],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | names | dict(environment),
        user=user,
        group=user and pwd.getpwnam(user).pw_gid,
        extra_groups=user and [],
        start_new_session=True,
    )
    try:
        line = process.stdout.readline()
        assert line, "the client ended before its cluster was there"
        yield process, json.loads(line)
    finally:
        process.kill()
        process.communicate(timeout=60)


def of_the_cluster(pids):
    """Return those of these processes that still run."""
    found = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):  # it has ended, or does this moment
            found += [pid] if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else []
    return found


def files_in(folder):
    """Return the names with a dot below `folder`, but for those that go while it is looked."""
    return [name for _, folders, files in os.walk(folder) for name in (*folders, *files) if "." in name]


def python_of(user):
    """Return a Python that `user` may run, and the environment in which it finds the course; skip where there is none.

    This one may lie in a folder that others can't enter; the system's own, of the same version, then finds its modules.
    """
    places = os.pathsep.join([str(Path(__file__).parents[3]), *(path for path in sys.path if "site-packages" in path)])
    for python, found in ((sys.executable, {}), ("/usr/bin/python3", {"PYTHONPATH": places})):
        look = [
            python,
            "-c",
            f"import sys, torch, course.deploy; assert sys.version_info[:2] == {sys.version_info[:2]}",
        ]
        try:
            if not subprocess.run(look, user=user, capture_output=True, env={"HOME": "/", **found}).returncode:
                return python, found
        except PermissionError:
            continue
    pytest.skip(f"NOT TESTED HERE: {user} may run no Python that has the course")


def said_by(*words):
    """Return what `python -m course deploy` says to these words."""
    return CliRunner().invoke(main, ["deploy", *words]).output


@pytest.mark.long
def test_a_plain_users_killed_client_leaves_no_job_running_or_pending_no_process_and_no_file():
    need_slurm()
    user = "nobody" if os.geteuid() == 0 else None  # this user is a plain one already
    python, modules = python_of(user)
    with slurm_here(user=user) as slurm:
        home = slurm.folder / "home"
        home.mkdir()
        os.chown(home, *((pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid) if user else (-1, -1)))
        found = {"SLURM_CONF": str(slurm.configuration), **modules}
        waits = {"worker": 2, "cores": 5}  # of eight
        with client("slurm", 1, waits, home, user, environment=found, python=python) as (process, pids):
            states = sorted(state for state, _ in slurm.jobs().values())
            assert states == ["PENDING", "RUNNING"]
            assert list((home / "state").rglob("entry.json"))
            slurm.node("drain")  # the job that waits would never begin, and so never see that its client is gone
            process.kill()
            eventually(lambda: not slurm.jobs() and not of_the_cluster(pids), SOON)
            eventually(lambda: not files_in(home / "state"), SOON)


def test_a_killed_client_leaves_no_process_that_it_started_over_ssh_and_is_told_of(sshd, tmp_path, monkeypatch):
    with client("ssh", 0, {"worker": 1, **sshd.options}, tmp_path) as (process, pids):
        assert len(of_the_cluster(pids)) == 2
        with monkeypatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
            listed = said_by("list")
        assert "ssh  worker=1" in listed and f"its client runs (process {process.pid}" in listed
        process.kill()
        eventually(lambda: not of_the_cluster(pids), SOON)
        eventually(lambda: not files_in(tmp_path / "state"), SOON)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    eventually(lambda: f"its process {process.pid} on " in said_by("list"), SOON)
    assert "ended without closing it" in said_by("list") and "inside a job, by `srun --pty`" in said_by("list")
    said_by("stop")
    assert said_by("list") == "nothing of yours is deployed\n"
