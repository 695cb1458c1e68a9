"""dask-cloudprovider's cluster of Compute Engine machines, with what the course adds to it."""

from typing import Any

from dask_cloudprovider.gcp.instances import GCPCluster, GCPScheduler, GCPWorker

from course.deploy.clouds.machines.vm_cluster import MARK, Machine, MachineCluster

_OVER = ("STOPPING", "STOPPED", "SUSPENDING", "SUSPENDED", "TERMINATED")  # of Compute Engine's states of a machine


class Virtual(Machine):
    """One machine: without the rights of a service account, and reached by the cluster's own firewall rules alone."""

    cluster: Any
    config: Any
    name: str

    def create_gcp_config(self) -> dict[str, Any]:
        """Return the request for the machine."""
        outside = not self.cluster.deployer.wanted.private
        self.config = {**self.config, "public_ingress": outside}  # has no argument of its own in all versions
        self.public_ingress = outside
        request = super().create_gcp_config()  # type: ignore[misc]
        request["tags"] = {"items": [self.cluster.deployer.name]}
        request["serviceAccounts"] = []
        if not outside:
            request["networkInterfaces"][0].pop("accessConfigs", None)
        return request

    async def created(self) -> tuple[str, str | None]:
        """Create the machine; where it vanished at once, say what its operation says."""
        try:
            return await super().created()
        except Exception as error:  # dask-cloudprovider raises a bare Exception("Missing Instance …")
            if "Missing Instance" not in str(error):
                raise
            where = {"project": self.projectid, "zone": self.zone}  # type: ignore[attr-defined]
            request = self.cluster.compute._compute.zoneOperations().list(**where, filter=f"targetLink:{self.name}")
            operations = (await self.cluster.call_async(request.execute)).get("items", [])
            errors = [error for operation in operations for error in operation.get("error", {}).get("errors", [])]
            words = [error["message"] for error in errors]
            raise (RuntimeError("; ".join(words)) if words else error) from None

    async def update_status(self) -> str:
        """Return the machine's state; DeployError where it has ended, which the library would wait out."""
        state = await super().update_status()  # type: ignore[misc]
        if state in _OVER:
            raise self.cluster.deployer.ended(1)
        return state


class Scheduler(Virtual, GCPScheduler):
    """The scheduler's machine."""

    async def start_scheduler(self) -> None:
        """Create it, and wait for it at the address by which this client reaches it."""
        inner, outer = await self.create_vm()
        self.address = f"{self.cluster.protocol}://{outer or inner}:{self.port}"
        self.cluster.scheduler_internal_ip = inner
        self.cluster.scheduler_port = self.port
        await self.wait_for_scheduler()


class Worker(Virtual, GCPWorker):
    """A worker's machine."""


class Cluster(MachineCluster, GCPCluster):
    """The machines of one deployer."""

    def __init__(self, deployer: Any):
        wanted = deployer.wanted
        super().__init__(
            deployer,
            projectid=deployer.project,
            zone=wanted.zone,
            network=wanted.network,
            machine_type=wanted.machine,
            source_image=wanted.system,
            filesystem_size=wanted.disk,
            instance_labels={MARK: deployer.name},
            scheduler_ngpus=0,  # what the library takes from its own configuration otherwise is a text
            worker_ngpus=0,
        )
        self.scheduler_class, self.worker_class = Scheduler, Worker

    def scheduler_host(self, process: Any) -> str:
        """Return the scheduler's address inside the network, for a worker's machine."""
        return str(self.scheduler_internal_ip) if isinstance(process, Worker) else "localhost"
