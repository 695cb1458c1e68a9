"""AWS, Google Cloud and Azure, stubbed at the HTTP boundary of their libraries: what is asked for, and that it ends."""

import base64
import os
import re
import signal
import threading
import time
from functools import partial

import dask
import pytest
import requests
import torch

from course import estimate_pi, linear_regression, train
from course.deploy import deploy
from course.deploy.clouds.machines import azure, gcp, machine_deployer, machine_options, vm_cluster
from course.deploy.clouds.machines.machine_options import MACHINES_IDLE
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries
from tests.course.deploy.machines.rest_here import IDENTITY, azure_error, google_error
from tests.course.deploy.machines.scheduler_here import scheduler_here
from tests.course.deploy.machines.scripts_here import config_of, holds_no_other_secret, same_as_stored

# of dask-cloudprovider's, where a busy machine takes ten seconds
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:Creating your cluster is taking")]

EC2S_LIMIT = 16384  # bytes of a machine's start-up script


@pytest.fixture
def started(cloud):
    """(the kind, its stand-in, the scheduler's port) after a cluster that started, computed and was closed."""
    kind, here, options = cloud
    with dask.config.set({"gateway.auth.kwargs": {"password": "hunter2"}}):
        cluster = deploy(kind, ps=1, worker=1, disk=20, **options)
    with cluster:
        assert estimate_pi(100_000, executor=cluster.executor).inside == estimate_pi(100_000).inside
        assert cluster.tasks == ["/job:ps/task:0", "/job:worker/task:0"]
        assert "Registered to" in cluster.log(cluster.tasks[0])
        optimizer = partial(torch.optim.SGD, lr=0.05)
        assert train(linear_regression(), cluster, optimizer=optimizer, total_steps=30).version == 30
        assert cluster.route(("127.0.0.2", 1)) == ("127.0.0.1" if kind == "aws" else "127.0.0.2", 1)
    assert here.left() == [] and entries() == []
    return kind, here, options["port"]


def bodies(here, kind):
    """Return what was asked for of a kind."""
    return [body for one, body in here.asked if one == kind]


def scripts(kind, here):
    """Return the start-up scripts of the machines, the scheduler's first."""
    if kind == "aws":
        texts = [base64.b64decode(body["UserData"]).decode() for body in bodies(here, "RunInstances")]
        return [text.replace("127.0.0.2", "INNER") for text in texts]
    if kind == "gcp":
        asked = [{one["key"]: one["value"] for one in b["metadata"]["items"]} for b in bodies(here, "instances")]
        return [one["user-data"] for one in asked]
    profiles = [body["properties"]["osProfile"] for body in bodies(here, "virtualMachines")]
    return [base64.b64decode(one["customData"]).decode() for one in profiles]


def test_a_cluster_starts_computes_pi_asks_for_what_it_should_and_leaves_nothing(started):
    kind, here, port = started
    {"aws": asked_of_ec2, "gcp": asked_of_google, "azure": asked_of_azure}[kind](here, port)
    first, second, third = scripts(kind, here)
    assert max(len(first), len(second)) < EC2S_LIMIT
    assert re.sub("worker-[0-9a-f]{8}", "", second) == re.sub("worker-[0-9a-f]{8}", "", third)
    idle = [config_of(one)["distributed"]["scheduler"]["idle-timeout"] for one in (first, second)]
    assert idle == [f"{MACHINES_IDLE:g} s"] * 2
    same = [same_as_stored(f"{kind}-{job}", one, port) for job, one in (("scheduler", first), ("worker", second))]
    assert same == [True, True]
    assert holds_no_other_secret(first, "hunter2") and holds_no_other_secret(second, "hunter2")
    assert dask.config.get("distributed.comm.require-encryption") is None


def asked_of_ec2(here, port):
    """Look at the requests for machines and the security group, as EC2's interface has them."""
    disk, card = "BlockDeviceMapping.1.Ebs.{}", "NetworkInterface.1.{}"
    for machine in bodies(here, "RunInstances"):
        assert machine["InstanceType"] == "m6i.large" and machine["MinCount"] == machine["MaxCount"] == "1"
        assert machine["ImageId"] == "ami-0ew"  # the newest of Canonical's own
        assert machine[disk.format("VolumeSize")] == "20" and machine[disk.format("DeleteOnTermination")] == "true"
        assert machine[card.format("SecurityGroupId.1")] and machine["InstanceInitiatedShutdownBehavior"] == "terminate"
        assert "IamInstanceProfile.Arn" not in machine and "KeyName" not in machine
        tags = [value for name, value in machine.items() if name.startswith("TagSpecification")]
        names = [value for value in tags if re.fullmatch(r"course-[0-9a-f]{8}", value)]
        assert tags.count("course-cluster") == len(names) == 2
    assert len(bodies(here, "RunInstances")) == 3
    [group] = bodies(here, "AuthorizeSecurityGroupIngress")
    rules = {name.removeprefix("IpPermissions."): value for name, value in group.items() if "IpPerm" in name}
    assert rules["1.IpRanges.1.CidrIp"] == "203.0.113.7/32" and rules["1.FromPort"] == str(port)
    assert rules["1.ToPort"] == str(port + 3)
    assert rules["2.Groups.1.GroupId"] == group["GroupId"]
    assert not [name for name in rules if name.startswith("3") or "Ipv6" in name or "IpRanges.2" in name]
    assert "0.0.0.0/0" not in rules.values() and "2.IpRanges.1.CidrIp" not in rules


def asked_of_google(here, port):
    """Look at the requests for machines and firewall rules."""
    for one in bodies(here, "instances"):
        [tag] = one["tags"]["items"]
        assert one["machineType"] == "zones/us-central1-a/machineTypes/e2-standard-2" and one["serviceAccounts"] == []
        [disk] = one["disks"]
        assert disk["autoDelete"] == "true" and disk["initializeParams"]["diskSizeGb"] == "20"
        assert (
            "ubuntu-minimal-2404" in disk["initializeParams"]["sourceImage"] and one["labels"]["course-cluster"] == tag
        )
    assert len(bodies(here, "instances")) == 3
    client, own = bodies(here, "firewalls")
    assert client["sourceRanges"] == ["203.0.113.7/32"] and client["targetTags"] == own["targetTags"] == [tag]
    assert client["allowed"] == [{"IPProtocol": "tcp", "ports": [f"{port}-{port + 3}"]}]
    assert own["sourceTags"] == [tag] and "sourceRanges" not in own


def asked_of_azure(here, port):
    """Look at the requests for machines and the security group, as Azure's interface has them."""
    for one in bodies(here, "virtualMachines"):
        asked = one["properties"]
        assert asked["hardwareProfile"] == {"vmSize": "Standard_D2s_v5"}
        assert asked["storageProfile"]["osDisk"] == {"createOption": "FromImage", "diskSizeGB": 20}
        assert asked["storageProfile"]["imageReference"]["offer"] == "ubuntu-24_04-lts"
        assert one["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}
    assert len(bodies(here, "virtualMachines")) == 3
    [group] = bodies(here, "networkSecurityGroups")
    [rule] = group["properties"]["securityRules"]
    door = rule["properties"]
    assert (door["sourceAddressPrefix"], door["destinationPortRange"]) == ("203.0.113.7/32", f"{port}-{port + 3}")
    assert (door["direction"], door["access"], door["protocol"]) == ("Inbound", "Allow", "Tcp")
    for kind in ("virtualMachines", "networkInterfaces", "publicIPAddresses", "networkSecurityGroups"):
        assert all(body["tags"] == group["tags"] for body in bodies(here, kind)), kind
    for card in bodies(here, "networkInterfaces"):
        assert card["properties"]["networkSecurityGroup"]["id"].endswith(group["name"])


#: kind of cloud -> (kind of thing, how many are asked for)
THINGS = {
    "aws": [("CreateSecurityGroup", 1), ("AuthorizeSecurityGroupIngress", 1), ("RunInstances", 2)],
    "gcp": [("firewalls", 2), ("instances", 2)],
    "azure": [("networkSecurityGroups", 1), ("publicIPAddresses", 2), ("networkInterfaces", 2), ("virtualMachines", 2)],
}


def quota(kind):
    """Return the error by which the cloud says that this is one too many."""
    if kind == "aws":
        return "VcpuLimitExceeded"
    if kind == "gcp":
        return google_error(403, "Quota 'CPUS' exceeded. Limit: 8.0 in region us-central1.", "quotaExceeded")
    return azure_error(409, "OperationNotAllowed", "Operation could not be completed: exceeding approved Cores quota.")


def test_whatever_the_cloud_refuses_the_start_leaves_nothing_and_says_why(cloud):
    kind, here, options = cloud
    here.boots = False
    for thing, count in THINGS[kind]:
        for number in range(1, count + 1):
            here.asked.clear()
            here.refuse = lambda k, n, wanted=(thing, number): quota(kind) if (k, n) == wanted else None
            with (
                scheduler_here(options["port"]),
                pytest.raises(DeployError, match="(?i)(quota|VcpuLimit).*; ask for more under"),
            ):
                deploy(kind, worker=1, **options)
            assert here.left() == [] and entries() == [], (thing, number)


def test_an_interrupt_at_any_request_leaves_nothing(cloud):
    kind, here, options = cloud
    here.boots = False
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for thing, number in THINGS[kind]:
            here.asked.clear()

            def interrupt(k, n, wanted=(thing, number)):
                if (k, n) == wanted:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.5)  # the answer comes after it

            here.refuse = interrupt
            with scheduler_here(options["port"]), pytest.raises(KeyboardInterrupt):
                deploy(kind, worker=1, **options)
            assert here.left() == [] and entries() == [], thing
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_scheduler_that_never_answers_leaves_nothing(cloud, monkeypatch):
    kind, here, options = cloud
    here.boots = False
    monkeypatch.setattr(vm_cluster, "MACHINE_STARTS", 0.5)
    with pytest.raises(DeployError, match="has not answered for 0 min"):
        deploy(kind, worker=1, **options)
    assert here.left() == [] and entries() == []


def test_a_machine_that_ends_itself_is_noticed_and_leaves_nothing(cloud, monkeypatch):
    kind, here, options = cloud
    here.pull = 1
    monkeypatch.setattr(machine_deployer, "MACHINE_LOOKS_EVERY", 0.1)
    with pytest.raises(DeployError, match="ended before they joined. Can they pull the image 'course:1'"):
        deploy(kind, worker=1, **options)
    [computer, *_] = here.computers.values()
    assert computer.notes("shutdown") == ["-h +485", "-h now"]
    asked = [line for line in computer.notes("curl") if "-X DELETE" in line]
    assert len(asked) == (kind == "azure") and all("Bearer a token" in line for line in asked)
    assert here.left() == [] and entries() == []


@pytest.mark.parametrize("cloud", ["gcp"], indirect=True)
def test_a_machine_of_googles_that_ended_before_anyone_looked_is_noticed_at_once(cloud, monkeypatch):
    kind, here, options = cloud
    here.boots, here.state = False, "TERMINATED"
    monkeypatch.setattr(vm_cluster, "MACHINE_CREATED", 60.0)  # which the library would wait for
    with pytest.raises(DeployError, match="ended before they joined. Can they pull the image 'course:1'"):
        deploy(kind, worker=1, **options)
    assert here.left() == [] and entries() == []


SAYS = {
    "aws": [
        ({"machine": "m6i.huge"}, "m6i.huge.*`aws ec2 describe-instance-types` has those of your region"),
        (
            {"machine": "g4dn.xlarge"},
            "machine='g4dn.xlarge'.*no driver is set up there. Make it by `aws ec2 run-instances`",
        ),
        ({"region": "eu-centrel-1"}, "no region 'eu-centrel-1'. Did you mean eu-central-1"),
        ({"region": None}, "there is no region. Say region='eu-central-1'"),
        ({"subnet": "subnet-0123"}, "`aws ec2 describe-subnets` names yours"),
    ],
    "gcp": [
        ({"zone": "mars-west1-a"}, "zones/mars-west1-a' was not found; `gcloud compute zones list`"),
        ({"machine": "e2-huge"}, "machineTypes/e2-huge' was not found; `gcloud compute machine-types list`"),
    ],
    "azure": [
        ({"location": "mars"}, "`az account list-locations` has the names; say location="),
        ({"vnet": "other"}, "`az network vnet list` has the names"),
        ({"machine": "Standard_Huge"}, "eastus has no machine='Standard_Huge'; `az vm list-sizes"),
    ],
}


def test_bad_input_gets_a_sentence_with_the_next_step(cloud, monkeypatch):
    kind, here, options = cloud
    monkeypatch.setattr(machine_options, "_SEES_US", "http://127.0.0.1:9")
    for wrong, says in [*SAYS[kind], ({"client": None}, "as in client='203.0.113.7/32'")]:
        with pytest.raises(DeployError, match=says):
            deploy(kind, worker=1, **{**options, **wrong})
    assert here.asked == [] and entries() == []


@pytest.mark.parametrize("cloud", ["gcp", "azure"], indirect=True)
def test_a_cloud_that_can_not_be_reached_and_one_that_is_silent_are_told_with_the_next_step(cloud, monkeypatch):
    kind, here, options = cloud
    module = {"gcp": gcp, "azure": azure}[kind]

    def gone(*_):
        raise requests.ConnectionError("no route to host")  # which is an OSError

    async def late(function, *arguments):
        if function is module._look:
            raise TimeoutError
        return await machine_deployer.in_thread(function, *arguments)

    for where, what, how in ((here, "answer", gone), (module, "in_thread", late)):
        with monkeypatch.context() as patch:
            patch.setattr(where, what, how)
            with pytest.raises(DeployError, match="does not answer .*is this machine online, (and )?does no firewall"):
                deploy(kind, worker=1, **options)
    assert here.asked == [] and entries() == []


@pytest.mark.parametrize("cloud", ["gcp"], indirect=True)
def test_a_silent_server_of_credentials_that_google_asks_where_there_are_none_is_no_credentials(cloud, monkeypatch):
    kind, _, options = cloud
    over = threading.Event()
    monkeypatch.setattr("google.auth.default", lambda *_: over.wait(60))  # a machine of Google's has that server
    monkeypatch.setattr(machine_deployer, "CLOUD_ANSWERS", 0.2)
    with pytest.raises(DeployError, match="no credentials. Say `gcloud auth application-default login` once"):
        deploy(kind, worker=1, **options)
    over.set()


def test_without_credentials_the_next_step_is_said(cloud, monkeypatch, tmp_path):
    kind, here, options = cloud
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # no `gcloud`, no `az`
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    for name in (
        "AWS_ACCESS_KEY_ID",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AZURE_CLIENT_ID",
        "AZURE_CLIENT_SECRET",
        "AZURE_TENANT_ID",
    ):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        DeployError, match="credentials. Say `(aws configure|gcloud auth application-default login|az login)` once"
    ):
        deploy(kind, worker=1, **options)
    assert here.asked == [] and entries() == []
