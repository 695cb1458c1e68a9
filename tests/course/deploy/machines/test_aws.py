"""What AWS alone has: codes of refused keys, and a killed client, whose machines and security group go."""

import json
import socket
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.deploy import deploy
from course.deploy.clouds.machines import aws
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries
from tests.helpers.shells import eventually

pytestmark = [pytest.mark.long, pytest.mark.parametrize("cloud", ["aws"], indirect=True)]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("AuthFailure", "the key is not valid: `aws sts get-caller-identity`"),
        ("UnauthorizedOperation", "docs/operators/aws.md"),
        ("ExpiredToken", "sign in again: `aws sso login`"),
    ],
)
def test_a_key_that_aws_refuses_is_told_with_the_next_step(cloud, code, says):
    _, here, options = cloud
    here.refuse = lambda action, count: code
    with pytest.raises(DeployError, match=f"AWS says {code}: .*{says}"):
        deploy("aws", worker=1, **options)
    assert here.asked == [] and entries() == []


def test_an_aws_that_can_not_be_reached_and_one_that_is_silent_are_told_with_the_next_step(cloud, monkeypatch):
    _, here, options = cloud
    monkeypatch.setattr(aws, "CLOUD_ANSWERS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (9, silent.getsockname()[1]):
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            with pytest.raises(DeployError, match="AWS does not answer .*is this machine online, and does no firewall"):
                deploy("aws", worker=1, **options)
    assert here.asked == [] and entries() == []


#: With "shorter", the time without work is short from the client's end on: before that, a busy machine needs it.
CLIENT = """
import json, sys, time
from distributed.diagnostics.plugin import SchedulerPlugin
from course.deploy import deploy
from course.deploy.clouds.machines import aws, machine_deployer
aws.CLOUD_ANSWERS = machine_deployer.CLOUD_ANSWERS = 60.0
class Shorter(SchedulerPlugin):
    def remove_client(self, scheduler, client):
        scheduler.idle_timeout = 0.5
cluster = deploy("aws", worker=1, say=lambda *_, **__: None, **json.loads(sys.argv[1]))
if sys.argv[2:]:
    cluster.client.register_plugin(Shorter())
print("there", flush=True)
time.sleep(600)
"""


@pytest.fixture
def client(cloud):
    """A function that starts a client and returns its process as soon as its two machines are there."""
    _, here, options = cloud
    processes = []

    def start(*shorter):
        words = json.dumps({name: value for name, value in options.items() if name != "say"})
        command = [sys.executable, "-c", CLIENT, words, *shorter]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert processes[-1].stdout.readline() == "there\n" and len(here.machines("running")) == 2
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=60)


def test_a_killed_client_is_followed_by_the_end_of_its_machines(cloud, client):
    _, here, _ = cloud
    client().kill()
    eventually(lambda: here.left() == [] and entries() == [], 120)


def test_where_client_and_caretaker_are_killed_the_machines_end_themselves_and_stop_takes_the_rest(cloud, client):
    _, here, _ = cloud
    process = client("shorter")
    for victim in [*psutil.Process(process.pid).children(recursive=True), process]:
        with suppress(psutil.NoSuchProcess):
            victim.kill()
    eventually(lambda: not here.machines("pending", "running"), 120)
    ends = [computer.notes("shutdown") for computer in here.computers.values()]
    assert all(first.startswith("-h +") and last == "-h now" for first, last in ends)
    [entry] = entries()
    assert here.left() == [entry.name]  # the security group
    assert CliRunner().invoke(main, ["deploy", "stop"]).output == f"{entry.name}: ended\n"
    assert here.left() == [] and entries() == []
