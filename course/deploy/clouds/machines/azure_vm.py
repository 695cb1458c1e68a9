"""dask-cloudprovider's cluster of Azure's virtual machines, with what the course adds to it."""

from typing import Any

from dask_cloudprovider.azure.azurevm import AzureVMCluster, AzureVMScheduler, AzureVMWorker

from course.deploy.clouds.machines.vm_cluster import MARK, Machine, MachineCluster

_UBUNTU = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}


class Scheduler(Machine, AzureVMScheduler):
    """The scheduler's machine."""


class Worker(Machine, AzureVMWorker):
    """A worker's machine; an address of its own lets it fetch the image, and the security group nobody in."""


class Cluster(MachineCluster, AzureVMCluster):
    """The machines of one deployer."""

    def __init__(self, deployer: Any):
        wanted, more = deployer.wanted, {}
        if wanted.identity != "none":
            more["identity"] = {"type": "UserAssigned", "user_assigned_identities": {wanted.identity: {}}}
        super().__init__(
            deployer,
            location=wanted.location,
            resource_group=wanted.group,
            vnet=wanted.vnet,
            subnet=deployer.subnet,
            security_group=deployer.name,
            public_ingress=not wanted.private,
            vm_size=wanted.machine,
            vm_image=_UBUNTU,
            disk_size=wanted.disk,
            subscription_id=wanted.subscription,
            extra_vm_options=more,
        )
        self.worker_options["public_ingress"] = not wanted.private
        self.scheduler_class, self.worker_class = Scheduler, Worker

    def get_tags(self) -> dict[str, str]:
        """Return the mark: all that is made has it."""
        return {MARK: self.deployer.name}
