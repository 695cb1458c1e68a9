"""A cluster on Google Cloud: Compute Engine machines and firewall rules of its own, marked with its name."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from course.deploy.clouds.cloud_options import CloudOptions
from course.deploy.clouds.machines.machine_deployer import MachineDeployer, in_thread
from course.deploy.clouds.machines.machine_options import MachineOptions
from course.deploy.clouds.machines.vm_cluster import MARK
from course.deploy.launcher import DeployError

_NO_CREDENTIALS = (
    "Google Cloud: this machine has no credentials. Say `gcloud auth application-default login` once, or set "
    "GOOGLE_APPLICATION_CREDENTIALS"
)
_UBUNTU = "projects/ubuntu-os-cloud/global/images/family/ubuntu-minimal-2404-lts-amd64"
#: What is in an error's text -> the next step.
_STEPS = {
    r"quota": "ask for more under IAM & Admin, Quotas, or start fewer workers or a smaller machine=",
    r"RESOURCE_POOL_EXHAUSTED|does not have enough resources": "this zone has none left: name another, as in zone=",
    r"zones/[^/]*' was not found": "`gcloud compute zones list` has the names: zone='us-central1-a'",
    r"machineTypes/[^/]*' was not found": "`gcloud compute machine-types list` has the names: machine='e2-standard-2'",
    r"networks/[^/]*' was not found": "`gcloud compute networks list` has the names: network='default'",
    r"projects/[^/]*' was not found|Unknown project": "`gcloud projects list` has the names; say project=",
    r"has not been used in project|is disabled": "switch it on: `gcloud services enable compute.googleapis.com`",
    r"permission|forbidden": "your account may not do this: docs/operators/gcp.md lists what it needs",
    r"invalid_grant|Reauthentication|expired": "sign in again: `gcloud auth application-default login`",
}


@dataclass(frozen=True)
class GcpOptions(MachineOptions):
    """The options of Google Cloud besides; see `MachineOptions`.

    `project`: by default that of your credentials; `zone`: "us-central1-a"; `network`: the network, and in it the
    subnetwork of the same name; `system`: the machines' image, by default Ubuntu 24.04.
    """

    machine: str = "e2-standard-2"
    project: str | None = None
    zone: str = "us-central1-a"
    network: str = "default"
    system: str = _UBUNTU

    def check(self) -> None:
        """Raise ValueError where an option can't be right."""
        super().check()
        self.text("zone", r"[a-z]+-[a-z]+\d+-[a-z]", "say a region with its zone, as in zone='us-central1-a'")
        self.text("network", r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", "name a network, as in network='default'")
        self.text("system", r"projects/[\w.:-]+/global/images/(family/)?[\w.-]+", f"say it as in system={_UBUNTU!r}")
        if self.project is not None:
            self.text(
                "project", r"[a-z][a-z0-9.:-]{4,61}[a-z0-9]", "say the project's id, as in project='my-course-1234'"
            )


class GcpDeployer(MachineDeployer):
    """See `MachineDeployer`: a machine that shuts itself down stops; its disk stays until `deploy stop` ends it."""

    library, steps = "dask_cloudprovider.gcp", _STEPS
    options: ClassVar[type[CloudOptions]] = GcpOptions

    def __init__(self, name: str, jobs: Mapping[str, int], options: GcpOptions):
        super().__init__(name, jobs, options)
        self.project = ""

    async def find(self) -> None:
        """Find the credentials, the project, the zone and the type of machine."""
        try:
            cloud, self.project = await in_thread(_connected, self.wanted.project)
        except TimeoutError:  # without credentials Google's library asks for a machine's own, for longer than that
            raise DeployError(_NO_CREDENTIALS) from None
        await in_thread(_look, cloud, self.project, self.wanted)

    def leftover(self) -> dict[str, Any]:
        """Return the project, the zone and the mark."""
        return {"name": self.name, "project": self.project, "zone": self.wanted.zone}

    async def network(self) -> None:
        """Make firewall rules that let this client in, and the cluster's machines to each other."""
        own = [{"IPProtocol": "tcp", "ports": ["0-65535"]}]
        door = [{"IPProtocol": "tcp", "ports": ["-".join(map(str, dict.fromkeys(self.door)))]}]
        await in_thread(
            self._add_rules,
            {"sourceRanges": [self.allowed], "allowed": door},
            {"sourceTags": [self.name], "allowed": own},
        )

    def _add_rules(self, client, own):
        cloud, _ = _connected(self.project)
        network = f"projects/{self.project}/global/networks/{self.wanted.network}"
        rule = {"network": network, "direction": "INGRESS", "targetTags": [self.name], "description": self.name}
        for suffix, more in (("client", client), ("own", own)):
            body = {"name": f"{self.name}-{suffix}", **rule, **more}
            cloud.firewalls().insert(project=self.project, body=body).execute()

    def make(self) -> Any:
        """Return the library's cluster of Compute Engine machines."""
        from course.deploy.clouds.machines.compute_engine import Cluster

        return Cluster(self)

    @classmethod
    async def machines(cls, leftover: dict[str, Any]) -> list[str]:
        """Return the names of the machines that are there."""
        cloud, _ = await in_thread(_connected, leftover["project"])
        machines = await in_thread(_marked, cloud, leftover)
        return [each["name"] for each in machines if each["status"] in ("PROVISIONING", "STAGING", "RUNNING")]

    @classmethod
    async def sweep(cls, leftover: dict[str, Any]) -> list[str]:
        """Delete the machines, their disks with them, and the firewall rules."""
        cloud, _ = await in_thread(_connected, leftover["project"])
        return await asyncio.to_thread(_sweep, cloud, leftover)

    @classmethod
    def explain(cls, error: Exception) -> str:
        """Return Google's words with the next step."""
        kind = type(error).__name__
        if kind in ("GCPCredentialsError", "DefaultCredentialsError"):
            return _NO_CREDENTIALS
        if isinstance(error, TimeoutError | OSError) or kind in ("ServerNotFoundError", "TransportError"):
            return (
                f"Google Cloud does not answer ({error or kind}): is this machine online, does no firewall keep us in?"
            )
        words = str(getattr(error, "reason", "") or error)
        return cls.advised(f"Google Cloud says: {words}", words)


def _connected(project):
    """Return (Compute Engine's interface, the project)."""
    import google.auth
    from dask_cloudprovider.gcp.instances import GCPCompute

    if project is None:
        _, project = google.auth.default()
    if not project:
        raise DeployError("Google Cloud: your credentials name no project; say it, as in project='my-course-1234'")
    return GCPCompute()._compute, project


def _look(cloud, project, wanted):
    """Raise where the zone or the type of machine is not there."""
    cloud.zones().get(project=project, zone=wanted.zone).execute()
    cloud.machineTypes().get(project=project, zone=wanted.zone, machineType=wanted.machine).execute()


def _marked(cloud, leftover):
    """Return the machines with the cluster's mark, in any state."""
    mark = f"labels.{MARK}={leftover['name']}"
    request = cloud.instances().list(project=leftover["project"], zone=leftover["zone"], filter=mark)
    return request.execute().get("items", [])


def _sweep(cloud, leftover):
    project = leftover["project"]
    machines = _marked(cloud, leftover)
    for machine in machines:
        if machine["status"] != "STOPPING":
            cloud.instances().delete(project=project, zone=leftover["zone"], instance=machine["name"]).execute()
    listed = cloud.firewalls().list(project=project, filter=f'name eq "{leftover["name"]}-.*"').execute()
    rules = listed.get("items", [])
    for rule in rules:
        cloud.firewalls().delete(project=project, firewall=rule["name"]).execute()
    return [resource["name"] for resource in (*machines, *rules)]
