"""What `aws_here` is asked to do, in the namespace: each case returns what the tests compare."""

import base64
import os
import signal
import socket
import subprocess
import sys
import time

import dask
import pytest

from course.deploy import deploy
from course.deploy.clouds.machines import aws, machine_deployer, machine_options, vm_cluster
from tests.course.deploy.machines.scheduler_here import scheduler_here

WANTED = {"image": "course:1", "region": "eu-central-1", "client": "203.0.113.7/32"}


def quiet(*_, **__):
    """Say nothing."""


def a_cluster(cloud):
    """Start a cluster and use it; return what was computed, what was asked of EC2, and what stays."""
    from course import estimate_pi

    with dask.config.set({"gateway.auth.kwargs": {"password": "hunter2"}}):
        cluster = deploy("aws", worker=1, disk=20, say=quiet, **WANTED)
    try:
        found = estimate_pi(100_000, executor=cluster.executor)
        told = {"inside": found.inside, "tasks": cluster.tasks, "log": cluster.log(cluster.tasks[0])}
        told["boot"] = [one.notes("docker") for one in cloud.computers.values()]
        told["shutdown"] = [one.notes("shutdown") for one in cloud.computers.values()]
    finally:
        cluster.close()
    told["left"], told["encryption elsewhere"] = cloud.left(), dask.config.get("distributed.comm.require-encryption")
    told["run"] = cloud.asked("RunInstances")
    told["scripts"] = [base64.b64decode(one["UserData"]).decode() for one in told["run"]]
    told["group"] = cloud.asked("AuthorizeSecurityGroupIngress")
    return told


def failed(cloud, error=RuntimeError, **options):
    """Return the words of the error that a start ends with, how many machines were asked for, and what stays."""
    began = time.monotonic()
    with pytest.raises(error) as caught:
        deploy("aws", **{"worker": 2, "say": quiet, **WANTED, **options}).close()
    waits, asked = time.monotonic() - began, len(cloud.asked("RunInstances"))
    return {"words": str(caught.value), "asked": asked, "left": cloud.left(), "waits": waits}


def no_quota_for_machine(cloud, number):
    """The machine `number` is one too many."""
    cloud.boots = False
    cloud.refuse = lambda action, count: action == "RunInstances" and count == number and "VcpuLimitExceeded"
    with scheduler_here(8786):
        return failed(cloud)


def no_quota_for_1(cloud):
    return no_quota_for_machine(cloud, 1)


def no_quota_for_2(cloud):
    return no_quota_for_machine(cloud, 2)


def no_quota_for_3(cloud):
    return no_quota_for_machine(cloud, 3)


def a_scheduler_that_never_answers(cloud):
    cloud.boots = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vm_cluster, "MACHINE_STARTS", 1.0)
        return failed(cloud)


def an_image_that_is_not_there(cloud):
    cloud.pull = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vm_cluster, "MACHINE_LOOKS_EVERY", 0.2)
        return failed(cloud)


def interrupted_at(cloud, action, number):
    """An interrupt comes while the request `number` of this `action` is being answered."""

    def interrupt(asked, count):
        if asked == action and count == number:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # the answer comes after it

    cloud.refuse = interrupt
    return failed(cloud, KeyboardInterrupt)


def interrupted_at_the_first_machine(cloud):
    cloud.boots = False
    return interrupted_at(cloud, "RunInstances", 1)


def interrupted_at_the_last_machine(cloud):
    cloud.boots = False
    with scheduler_here(8786):
        return interrupted_at(cloud, "RunInstances", 3)


def interrupted_at_the_group(cloud):
    return interrupted_at(cloud, "CreateSecurityGroup", 1)


def words(cloud):
    """Return what bad input gets: the words, and seconds."""
    told = {"type": failed(cloud, machine="m6i.huge"), "gpu": failed(cloud, machine="g4dn.xlarge")}
    told["region"] = failed(cloud, region="eu-centrel-1")
    told["no region"] = failed(cloud, region=None)
    told["subnet"] = failed(cloud, subnet="subnet-0123")
    for name, code in (("key", "AuthFailure"), ("may not", "UnauthorizedOperation"), ("expired", "ExpiredToken")):
        cloud.refuse = lambda action, count, code=code: code
        told[name] = failed(cloud)
    cloud.refuse = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        told["no network"] = failed(cloud)
        with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as shorter:
            shorter.setattr(aws, "CLOUD_ANSWERS", 0.5)
            shorter.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
            told["silence"] = failed(cloud)
        patch.delenv("AWS_ACCESS_KEY_ID")
        told["no key"] = failed(cloud)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_options, "_SEES_US", "http://127.0.0.1:9")
        told["client"] = failed(cloud, client=None)
    return told


#: With an argument, the time without work is short from the client's end on: before that, a busy machine needs it.
_CLIENT = """
import sys, time
from distributed.diagnostics.plugin import SchedulerPlugin
from tests.course.deploy.machines.aws_cases import *
class Shorter(SchedulerPlugin):
    def remove_client(self, scheduler, client):
        scheduler.idle_timeout = 0.5
cluster = deploy("aws", worker=1, say=quiet, **WANTED)
if sys.argv[1:]:
    cluster.client.register_plugin(Shorter())
print("there", flush=True)
time.sleep(600)
"""


def client_with_a_cluster(*shorter):
    """Return the process of a client as soon as its cluster is there."""
    client = subprocess.Popen([sys.executable, "-c", _CLIENT, *shorter], stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "there\n"
    return client


def a_killed_client(cloud):
    """Its caretaker ends everything."""
    client = client_with_a_cluster()
    there = len(cloud.machines("running"))
    client.kill()
    client.wait()
    client.stdout.close()
    return {"there": there, "left": gone(cloud)}


def a_killed_client_and_caretaker(cloud):
    """Their machine is off, say: the machines end themselves; `deploy stop` takes the rest away."""
    import psutil

    from course.commands.deploy import stop

    client = client_with_a_cluster("shorter")
    there = len(cloud.machines("running"))
    for one in [*psutil.Process(client.pid).children(recursive=True), client]:
        one.kill()
    client.wait()
    client.stdout.close()
    deadline = time.monotonic() + 60
    while cloud.machines("pending", "running") and time.monotonic() < deadline:
        time.sleep(0.05)
    told = {"there": there, "running": len(cloud.machines("pending", "running")), "left": cloud.left()}
    told["shutdown"] = [one.notes("shutdown") for one in cloud.computers.values()]
    told["stop"] = list(stop([]))
    return told | {"left after stop": cloud.left()}


def gone(cloud, seconds=60):
    """Wait until nothing is left; return what is."""
    deadline = time.monotonic() + seconds
    while (left := cloud.left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


machine_deployer.MACHINES_END_EVERY = 0.2  # moto answers at once
aws.CLOUD_ANSWERS = machine_deployer.CLOUD_ANSWERS = 60.0  # or when it gets the processor
