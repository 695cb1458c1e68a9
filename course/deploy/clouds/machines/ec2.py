"""dask-cloudprovider's cluster of EC2 machines, with what the course adds to it."""

from typing import Any

from dask_cloudprovider.aws import EC2Cluster
from dask_cloudprovider.aws.ec2 import EC2Scheduler, EC2Worker

from course.deploy.clouds.machines.vm_cluster import MARK, Machine, MachineCluster


class Virtual(Machine):
    """One machine, which the others reach inside the cloud's network: the group lets nobody else in."""

    instance: Any

    async def created(self) -> tuple[str, str | None]:
        """Return the machine's private and, for the client, its public address."""
        outer, _ = await super().created()
        inner = self.instance["PrivateIpAddress"]
        return inner, None if outer == inner else outer


class Scheduler(Virtual, EC2Scheduler):
    """The scheduler's machine."""


class Worker(Virtual, EC2Worker):
    """A worker's machine."""


class Cluster(MachineCluster, EC2Cluster):
    """The machines of one deployer."""

    def __init__(self, deployer: Any):
        wanted, mark = deployer.wanted, {MARK: deployer.name}
        super().__init__(
            deployer,
            region=deployer.region,
            ami=deployer.ami,
            instance_type=wanted.machine,
            vpc=deployer.vpc,
            subnet_id=deployer.subnet,
            security_groups=[deployer.group],
            filesystem_size=wanted.disk,
            instance_tags=mark,
            volume_tags=mark,
            use_private_ip=wanted.private,
        )
        self.scheduler_class, self.worker_class = Scheduler, Worker
