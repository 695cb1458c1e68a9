"""`python -m course train`: what bad flags get, and a training whose roles are processes of their own."""

import signal

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.training.checkpoint.checkpoints import Checkpoints
from tests.helpers.shells import Roles, eventually

HOSTS = ["--ps-hosts", "127.0.0.1:2301", "--worker-hosts", "127.0.0.1:2302,127.0.0.1:2303"]


def train(*flags):
    return CliRunner().invoke(main, ["train", *flags])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (HOSTS, "say which task this process is, as in --job-name worker --task-index 0"),
        (["--job-name", "ps"], "give the cluster by --spec FILE, or by --ps-hosts"),
        ([*HOSTS, "--job-name", "chief"], "--job-name chief: a training has the roles ps and worker"),
        ([*HOSTS, "--job-name", "scheduler"], "the scheduler is in the first ps's process"),
        ([*HOSTS, "--job-name", "worker", "--task-index", "2"], "the tasks of worker are 0 to 1"),
        ([*HOSTS[:2], "--job-name", "ps"], "a ps task and a worker task are needed"),
        (["--worker-hosts", "127.0.0.1:1", "--job-name", "worker"], "a ps task and a worker task are needed"),
        ([*HOSTS[:2], "--worker-hosts", "127.0.0.1:2301", "--job-name", "worker"], "both '127.0.0.1:2301'"),
        ([*HOSTS, "--job-name", "worker", "--certificate", "none.pem"], "course certificate none.pem"),
        ([*HOSTS, "--job-name", "worker", "--mode", "sync", "--aggregate", "3"], "aggregate=3"),
        (["--ps-hosts", "10.1.2.3:1", *HOSTS[2:], "--job-name", "ps", "--insecure"], "is not on loopback"),
        (["--learning-rate", "nan"], "--learning-rate nan"),
        ([*HOSTS, "--job-name", "worker", "--route", "a:1=b"], "--route a:1=b: say where the others are"),
        ([*HOSTS, "--job-name", "ps", "--ports", "9:8"], "9:8: give a range of ports from 1 to 65535"),
        (["--route", "a:1=b:2"], "--route and --ports are for one role of many"),
    ],
)
def test_what_is_wrong_with_the_flags_is_said_at_once(flags, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = train(*flags)
    assert result.exit_code != 0 and words in result.output, result.output
    assert len(result.output.splitlines()) < 6 and "Traceback" not in result.output


@pytest.fixture
def ports(free_ports):
    """Of a ps, so that the port of its scheduler is one too, and of two workers."""
    return [port for port in free_ports(12) if port < 60000][:3]


@pytest.mark.long
@pytest.mark.faults
def test_roles_started_in_any_order_train_survive_their_chief_and_all_end(ports, tmp_path):
    flags = ["--checkpoint-dir", "saved", "--steps", "600", "--patience", "120"]
    with Roles(ports, tmp_path, *flags) as roles:
        second, first = roles.start("worker", 1), roles.start("worker", 0)
        ps = roles.start("ps", 0)
        first.says("/job:worker/task:0 is the chief", patience=120)
        first.says("/job:worker/task:1 has joined: its first gradient is in step")  # all have been told where it runs
        assert Checkpoints(tmp_path / "saved").all(), "of step 0"
        first.signal(signal.SIGKILL)
        second.says("/job:worker/task:1 is the chief now, and goes on where the one before was", patience=90)
        assert second.ends(600) == 0 and ps.ends() == 0
        for role in (second, ps):
            role.says("loss on worker 0's first batch")
            role.says("600 updates")
    assert Checkpoints(tmp_path / "saved").all()[-1].version == 600


@pytest.mark.long
@pytest.mark.faults
def test_a_role_that_waits_says_for_whom_and_ends_when_nobody_comes(ports, tmp_path):
    with Roles(ports, tmp_path, "--patience", "8") as roles:
        ps = roles.start("ps", 0)
        ps.says("/job:ps/task:0 waits for /job:worker/task:0, /job:worker/task:1")
        assert ps.ends() == 1
        assert "had not come after 8 s" in ps.text and "Traceback" not in ps.text


def test_a_worker_whose_scheduler_never_comes_says_so_once(ports, tmp_path):
    with Roles(ports, tmp_path, "--patience", "1") as roles:
        worker = roles.start("worker", 0)
        assert worker.ends() == 1
    assert worker.text.count("did not join") == len(worker.lines) == 1, worker.text


@pytest.mark.long
@pytest.mark.faults
def test_roles_try_to_join_again_as_they_say_and_are_gone_when_they_are_told_to_end(ports, tmp_path):
    flags = ["--checkpoint-dir", "saved", "--steps", "10000000", "--patience", "120"]
    with Roles(ports, tmp_path, *flags) as roles:
        first, second, ps = roles.start("worker", 0), roles.start("worker", 1), roles.start("ps", 0)
        first.says("/job:worker/task:0 is the chief", patience=120)
        eventually(lambda: len(Checkpoints(tmp_path / "saved").all()) > 1, 120)  # after 10 s: everybody works
        ps.signal(signal.SIGKILL)
        for worker in (first, second):
            worker.says("lost its scheduler; it tries for 120 s to join again")
        first.says("nobody may be chief without it. It goes on as a worker.")
        again = roles.start("ps", 0)
        first.says("/job:worker/task:0 is the chief now, and goes on where the one before was", patience=120)
        eventually(lambda: Checkpoints(tmp_path / "saved").latest().incarnation == 1, patience=120)
        tries = [role.text.count("to join again") for role in (first, second, again)]
        for role in (first, second, again):
            role.signal(signal.SIGTERM)
        assert [role.ends() for role in (first, second, again)] == [128 + signal.SIGTERM] * 3
        assert [role.text.count("to join again") for role in (first, second, again)] == tries, "nobody tries again"
        for role in (first, second, again):
            assert "Error" not in role.text and "Traceback" not in role.text
