"""A cluster on AWS: EC2 machines of its own, in a security group of its own, marked with its name."""

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from course.deploy.clouds.cloud_options import CLOUD_ANSWERS, CloudOptions
from course.deploy.clouds.machines.machine_deployer import MachineDeployer
from course.deploy.clouds.machines.machine_options import MachineOptions
from course.deploy.clouds.machines.vm_cluster import MARK
from course.deploy.launcher import DeployError
from course.deploy.options import did_you_mean

_CANONICAL, _UBUNTU = "099720109477", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"
_THERE = ["pending", "running", "stopping", "stopped"]
#: What is in an error code of EC2's -> the next step.
_STEPS = {
    "VcpuLimitExceeded": "ask for more under Service Quotas, EC2, or start fewer workers or a smaller machine=",
    "InstanceLimitExceeded": "ask for more under Service Quotas, EC2, or start fewer workers",
    "MaxSpotInstanceCountExceeded": "start fewer workers",
    "InsufficientInstanceCapacity": "this zone has none left: name another subnet= or machine=, or try again later",
    "InvalidInstanceType": "`aws ec2 describe-instance-types` has those of your region; name one by machine=",
    "Unsupported": "this zone doesn't have that type: name another subnet= or machine=",
    "InvalidAMI": "images are a region's own; leave ami= out, or name one of your region",
    "InvalidVpc": "`aws ec2 describe-vpcs` names yours",
    "InvalidSubnet": "`aws ec2 describe-subnets` names yours",
    "Unauthorized": "your user may not do this: docs/operators/aws.md lists what it needs",
    "AuthFailure": "the key is not valid: `aws sts get-caller-identity` says more, `aws configure` takes another",
    "InvalidClientTokenId": "the key is not valid: `aws configure` takes another",
    "SignatureDoesNotMatch": "the secret key is not the key's: `aws configure` takes both",
    "ExpiredToken": "sign in again: `aws sso login`",
    "RequestExpired": "sign in again, and look at this machine's clock",
    "RequestLimitExceeded": "others of this account ask a lot just now; try again in a minute",
    "OptInRequired": "this account does not have the region; switch it on, or name another region=",
}


@dataclass(frozen=True)
class AwsOptions(MachineOptions):
    """The options of AWS besides; see `MachineOptions`.

    `region`: "eu-central-1", by default that of your AWS configuration. `subnet`, `vpc`: where the machines are, by
    default the first subnet of the default VPC. `ami`: the machines' system, by default the newest Ubuntu 24.04.
    """

    machine: str = "m6i.large"
    region: str | None = None
    vpc: str | None = None
    subnet: str | None = None
    ami: str | None = None

    def check(self) -> None:
        """Raise ValueError where an option can't be right."""
        super().check()
        for name, prefix in (("vpc", "vpc"), ("subnet", "subnet"), ("ami", "ami")):
            if getattr(self, name) is not None:
                self.text(name, rf"{prefix}-[0-9a-f]+", f"say it as in {name}='{prefix}-0123456789abcdef0'")


class AwsDeployer(MachineDeployer):
    """See `MachineDeployer`: machines end for good when they shut down, and take their disks with them."""

    library, steps = "dask_cloudprovider.aws", _STEPS
    options: ClassVar[type[CloudOptions]] = AwsOptions

    def __init__(self, name: str, jobs: Mapping[str, int], options: AwsOptions):
        super().__init__(name, jobs, options)
        self.region = self.vpc = self.subnet = self.ami = self.group = ""

    async def find(self) -> None:
        """Find the region, the network, the system's image and the type of machine."""
        self.region = _region(self.wanted.region)
        async with asyncio.timeout(CLOUD_ANSWERS), ec2(self.region) as client:
            self.vpc, self.subnet = await _network(client, self.wanted)
            self.ami = self.wanted.ami or await _ubuntu(client)
            types = await client.describe_instance_types(InstanceTypes=[self.wanted.machine])
        if types["InstanceTypes"][0].get("GpuInfo"):
            idle = f"machine={self.wanted.machine!r}: its GPU would be idle, for no driver is set up there"
            raise DeployError(f"{idle}. Make it by `aws ec2 run-instances`, and deploy('ssh'): docs/deploy.md says how")

    def leftover(self) -> dict[str, Any]:
        """Return the region and the mark."""
        return {"name": self.name, "region": self.region}

    async def network(self) -> None:
        """Make a security group that lets this client in, and the group's machines to each other."""
        tags = [{"ResourceType": "security-group", "Tags": [{"Key": MARK, "Value": self.name}]}]
        about = f"The course's cluster {self.name}: one client, and its own machines"
        async with ec2(self.region) as client:
            group = await client.create_security_group(
                GroupName=self.name, Description=about, VpcId=self.vpc, TagSpecifications=tags
            )
            self.group = group["GroupId"]
            first, last = self.door
            only = {"IpProtocol": "tcp", "FromPort": first, "ToPort": last, "IpRanges": [{"CidrIp": self.allowed}]}
            each_other = {
                "IpProtocol": "tcp",
                "FromPort": 0,
                "ToPort": 65535,
                "UserIdGroupPairs": [{"GroupId": self.group}],
            }
            await client.authorize_security_group_ingress(GroupId=self.group, IpPermissions=[only, each_other])

    def make(self) -> Any:
        """Return the library's cluster of EC2 machines."""
        from course.deploy.clouds.machines.ec2 import Cluster

        cluster = Cluster(self)
        cluster.boto_session.register_component("data_loader", interface())
        return cluster

    @classmethod
    async def machines(cls, leftover: dict[str, Any]) -> list[str]:
        """Return the ids of the machines that are there."""
        async with ec2(leftover["region"]) as client:
            return [machine["InstanceId"] for machine in await _marked(client, leftover["name"], _THERE)]

    @classmethod
    async def sweep(cls, leftover: dict[str, Any]) -> list[str]:
        """Terminate the machines; once they are gone, delete the security group."""
        async with ec2(leftover["region"]) as client:
            states = {
                machine["InstanceId"]: machine["State"]["Name"]
                for machine in await _marked(client, leftover["name"], [*_THERE, "shutting-down"])
            }
            if living := [machine for machine, state in states.items() if state != "shutting-down"]:
                await client.terminate_instances(InstanceIds=living)
            mark = [{"Name": f"tag:{MARK}", "Values": [leftover["name"]]}]
            groups = (await client.describe_security_groups(Filters=mark))["SecurityGroups"]
            if not states:
                for group in groups:
                    await client.delete_security_group(GroupId=group["GroupId"])
            return [*states, *(group["GroupId"] for group in groups)]

    @classmethod
    def explain(cls, error: Exception) -> str:
        """Return EC2's words with the next step."""
        code = getattr(error, "response", {}).get("Error", {}).get("Code", type(error).__name__)
        if code in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "TokenRetrievalError"):
            return f"AWS: {error}. Say `aws configure` once, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        if code in ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "TimeoutError"):
            return f"AWS does not answer ({error or code}): is this machine online, and does no firewall keep us in?"
        words = getattr(error, "response", {}).get("Error", {}).get("Message") or str(error)
        return cls.advised(f"AWS says {code}: {words}", code)


@asynccontextmanager
async def ec2(region: str) -> Any:
    """Within the `async with`, a client of EC2 in this region that gives up in time."""
    from aiobotocore.session import get_session
    from botocore.config import Config

    session = get_session()
    session.register_component("data_loader", interface())
    waits = Config(connect_timeout=CLOUD_ANSWERS / 3, read_timeout=CLOUD_ANSWERS, retries={"total_max_attempts": 2})
    async with session.create_client("ec2", region_name=region, config=waits) as client:
        yield client


@cache
def interface() -> Any:
    """Return botocore's description of EC2's requests, read once: a second of the processor, each time."""
    from botocore.loaders import create_loader

    return create_loader()


def _region(wanted):
    """Return the region `wanted`, or the configured one; DeployError where there is none, or none of that name."""
    from botocore.session import Session

    session = Session()
    session.register_component("data_loader", interface())
    region = wanted or session.get_config_variable("region")
    if not region:
        raise DeployError("AWS: there is no region. Say region='eu-central-1', or `aws configure` once")
    partitions = session.get_available_partitions()
    regions = [name for partition in partitions for name in session.get_available_regions("ec2", partition)]
    if region not in regions:
        raise DeployError(f"AWS: there is no region {region!r}.{did_you_mean(region, regions)}")
    return region


async def _network(client, wanted):
    """Return the VPC and the subnet."""
    if wanted.subnet:
        [subnet] = (await client.describe_subnets(SubnetIds=[wanted.subnet]))["Subnets"]
        return subnet["VpcId"], wanted.subnet
    default = [] if wanted.vpc else [{"Name": "is-default", "Values": ["true"]}]
    vpcs = (await client.describe_vpcs(Filters=default, VpcIds=[wanted.vpc] if wanted.vpc else []))["Vpcs"]
    if not vpcs:
        raise DeployError("AWS: this account has no default VPC here: name a subnet, as in subnet='subnet-0123…'")
    vpc = vpcs[0]["VpcId"]
    subnets = (await client.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}]))["Subnets"]
    if not subnets:
        raise DeployError(f"AWS: {vpc} has no subnet: name another vpc=, or a subnet=")
    return vpc, min(subnets, key=lambda subnet: subnet["AvailabilityZone"])["SubnetId"]


async def _ubuntu(client):
    """Return the newest image of Ubuntu 24.04 that is Canonical's own."""
    filters = [{"Name": "name", "Values": [_UBUNTU]}, {"Name": "state", "Values": ["available"]}]
    images = (await client.describe_images(Filters=filters, Owners=[_CANONICAL]))["Images"]
    if not images:
        raise DeployError("AWS: this region has no image of Ubuntu 24.04: name a Debian or Ubuntu by ami='ami-0123…'")
    return max(images, key=lambda image: image["CreationDate"])["ImageId"]


async def _marked(client, name, states):
    """Return the machines with the cluster's mark that are in one of these states."""
    marks = [{"Name": f"tag:{MARK}", "Values": [name]}, {"Name": "instance-state-name", "Values": states}]
    pages = client.get_paginator("describe_instances").paginate(Filters=marks)
    return [machine async for page in pages for held in page["Reservations"] for machine in held["Instances"]]
