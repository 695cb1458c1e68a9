"""A cluster on Azure: virtual machines of its own behind a security group of its own, marked with its name."""

import asyncio
import logging
import re
import shlex
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from course.deploy.clouds.cloud_options import CLOUD_ANSWERS, CloudOptions
from course.deploy.clouds.machines.machine_deployer import MachineDeployer, in_thread
from course.deploy.clouds.machines.machine_options import MachineOptions
from course.deploy.clouds.machines.vm_cluster import MARK
from course.deploy.launcher import DeployError

#: Our errors have what Azure's library logs; where the program configures no log, Python would print it besides.
logging.getLogger("azure").addHandler(logging.NullHandler())

_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_KIND = r"Microsoft\.ManagedIdentity/userAssignedIdentities"
_IDENTITY = rf"/subscriptions/{_UUID}/resource[gG]roups/[\w.()-]+/providers/{_KIND}/[\w-]+"
#: What is in an error's text -> the next step.
_STEPS = {
    r"Quota|OperationNotAllowed": "ask for more under Subscriptions, Usage + quotas, or start fewer workers",
    r"SkuNotAvailable|AllocationFailed": "this location has none left: name another machine= or location=",
    r"ResourceGroupNotFound": "`az group list` has the names; say group=",
    r"LocationNotAvailable|NoRegisteredProviderFound": "`az account list-locations` has the names; say location=",
    r"SubscriptionNotFound|InvalidSubscription": "`az account list` has the ids; say subscription=",
    r"virtualNetworks": "`az network vnet list` has the names; say vnet=",
    r"InvalidParameter.*vmSize|VMSizeNotSupported": "`az vm list-sizes` has the names; say machine=",
    r"AuthorizationFailed": "your account may not do this: docs/operators/azure.md lists what it needs",
    r"ExpiredAuthenticationToken|InvalidAuthenticationToken": "sign in again: `az login`",
}
_UNREACHED = re.compile(r"no route|timed out|Failed to resolve|Max retries|Connection (refused|aborted|reset)", re.I)
#: With these lines a machine asks for its own deletion: Azure bills one that only shut itself down.
_DELETE = """\
metadata='http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01'
asked='&resource=https%3A%2F%2Fmanagement.azure.com%2F&msi_res_id='{identity}
answer=$(curl -s -m 30 -H Metadata:true "$metadata$asked")
token=$(sed 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/' <<< "$answer")
curl -s -m 30 -X DELETE -H "Authorization: Bearer $token" \\
    "https://management.azure.com"{machine}"?api-version=2024-07-01&forceDeletion=true\""""


@dataclass(frozen=True)
class AzureOptions(MachineOptions):
    """The options of Azure besides; see `MachineOptions`.

    `group`: the resource group; `vnet`: a virtual network in it; `location`: "eastus"; `subscription`: its id.
    `identity`: a user-assigned identity's resource id, with which a machine may delete itself (Azure bills machines
    that only shut themselves down), or "none" where you see to it yourself.
    """

    machine: str = "Standard_D2s_v5"
    group: str = ""
    vnet: str = ""
    location: str = "eastus"
    subscription: str = ""
    identity: str = ""

    def check(self) -> None:
        """Raise ValueError where an option can't be right."""
        super().check()
        self.text("group", r"[\w.()-]{1,90}", "name a resource group, as in group='course'; `az group list` has yours")
        self.text("vnet", r"\w[\w.-]{1,63}", "name a virtual network of the group, as in vnet='course'")
        self.text("location", r"[a-z0-9]+", "name a location, as in location='eastus'")
        self.text("subscription", _UUID, "say its id; `az account show` has it")
        why = "a machine that only shuts itself down costs as before. Name an identity that may delete it, as in"
        example = "identity='/subscriptions/…/userAssignedIdentities/course' (docs/operators/azure.md), or 'none'"
        self.text("identity", f"none|{_IDENTITY}", f"{why} {example}")


class AzureDeployer(MachineDeployer):
    """See `MachineDeployer`."""

    library, steps = "dask_cloudprovider.azure", _STEPS
    options: ClassVar[type[CloudOptions]] = AzureOptions

    def __init__(self, name: str, jobs: Mapping[str, int], options: AzureOptions):
        super().__init__(name, jobs, options)
        self.subnet = ""

    async def find(self) -> None:
        """Find the credentials, the network and the type of machine."""
        self.subnet = await in_thread(_look, self.wanted)

    def leftover(self) -> dict[str, Any]:
        """Return the subscription, the group and the mark."""
        return {"name": self.name, "subscription": self.wanted.subscription, "group": self.wanted.group}

    async def network(self) -> None:
        """Make a security group that lets this client in; machines of one network reach each other."""
        await in_thread(self._add_group)

    def _add_group(self):
        door = {"name": "client", "priority": 100, "direction": "Inbound", "access": "Allow", "protocol": "Tcp"}
        door |= {"source_address_prefix": self.allowed, "source_port_range": "*"}
        door |= {
            "destination_address_prefix": "*",
            "destination_port_range": "-".join(map(str, dict.fromkeys(self.door))),
        }
        rules = {"location": self.wanted.location, "tags": {MARK: self.name}, "security_rules": [door]}
        with _clients(self.wanted.subscription) as (_, network):
            network.network_security_groups.begin_create_or_update(self.wanted.group, self.name, rules).result()

    def make(self) -> Any:
        """Return the library's cluster of virtual machines."""
        from course.deploy.clouds.machines.azure_vm import Cluster

        return Cluster(self)

    def last_lines(self, machine: str) -> str:
        """Return the lines by which the machine asks for its own deletion."""
        if self.wanted.identity == "none":
            return ""
        group = f"/subscriptions/{self.wanted.subscription}/resourceGroups/{self.wanted.group}"
        own = f"{group}/providers/Microsoft.Compute/virtualMachines/{machine}"
        return _DELETE.format(identity=shlex.quote(self.wanted.identity), machine=shlex.quote(own))

    @classmethod
    async def machines(cls, leftover: dict[str, Any]) -> list[str]:
        """Return the names of the machines that are there."""
        return await in_thread(_machines, leftover)

    @classmethod
    async def sweep(cls, leftover: dict[str, Any]) -> list[str]:
        """Delete the machines, then their interfaces, addresses and disks, then the security group."""
        return await asyncio.to_thread(_sweep, leftover)

    @classmethod
    def explain(cls, error: Exception) -> str:
        """Return Azure's words with the next step."""
        kind = type(error).__name__
        # of the ways to credentials that were tried: a failure ends the list, a way that isn't there does not
        last = str(error).split("\n\t")[-1].partition("\n")[0]
        uncredited = kind in ("ClientAuthenticationError", "CredentialUnavailableError")
        unreached = kind in ("ServiceRequestError", "ServiceResponseError") or (uncredited and _UNREACHED.search(last))
        if isinstance(error, TimeoutError | OSError) or unreached:
            return f"Azure does not answer ({last or kind}): is this machine online, and does no firewall keep us in?"
        if uncredited:
            return (
                "Azure: this machine has no valid credentials. Say `az login` once, or set AZURE_CLIENT_ID and its kin"
            )
        words = " ".join(str(getattr(error, "message", "") or error).split())
        return cls.advised(f"Azure says: {words}", str(error))


@contextmanager
def _clients(subscription):
    """Within the `with`, Azure's interfaces to machines and to networks."""
    from azure.identity import DefaultAzureCredential
    from azure.mgmt.compute import ComputeManagementClient
    from azure.mgmt.network import NetworkManagementClient

    waits = {"connection_timeout": CLOUD_ANSWERS / 2, "read_timeout": CLOUD_ANSWERS, "retry_total": 1}
    with (
        DefaultAzureCredential(retry_total=1) as credentials,
        ComputeManagementClient(credentials, subscription, **waits) as compute,
        NetworkManagementClient(credentials, subscription, **waits) as network,
    ):
        yield compute, network


def _look(wanted):
    """Return the id of the network's first subnet; raise where it, or the type of machine, is not there."""
    with _clients(wanted.subscription) as (compute, network):
        sizes = [size.name for size in compute.virtual_machine_sizes.list(wanted.location)]
        if wanted.machine not in sizes:
            where = wanted.location
            raise DeployError(
                f"Azure: {where} has no machine={wanted.machine!r}; `az vm list-sizes -l {where}` has them"
            )
        for subnet in network.subnets.list(wanted.group, wanted.vnet):
            return subnet.id
    raise DeployError(f"Azure: the network {wanted.vnet!r} has no subnet: `az network vnet subnet create` makes one")


def _marked(resources, name):
    return [resource for resource in resources if (resource.tags or {}).get(MARK) == name]


def _machines(leftover):
    with _clients(leftover["subscription"]) as (compute, _):
        machines = _marked(compute.virtual_machines.list(leftover["group"]), leftover["name"])
        return [machine.name for machine in machines if machine.provisioning_state != "Deleting"]


def _sweep(leftover):
    group, name = leftover["group"], leftover["name"]
    with _clients(leftover["subscription"]) as (compute, network):
        machines = _marked(compute.virtual_machines.list(group), name)
        if machines:
            _delete(group, compute.virtual_machines, machines, force_deletion=True)
            return [machine.name for machine in machines]
        cards = _marked(network.network_interfaces.list(group), name)
        _delete(group, network.network_interfaces, cards)
        disks = [disk for disk in compute.disks.list_by_resource_group(group) if name in disk.name]
        _delete(group, compute.disks, disks)
        addresses = _marked(network.public_ip_addresses.list(group), name)
        groups = _marked(network.network_security_groups.list(group), name)
        if not cards:  # they hold both
            _delete(group, network.public_ip_addresses, addresses)
            _delete(group, network.network_security_groups, groups)
        return [resource.name for resource in (*cards, *disks, *addresses, *groups)]


def _delete(group, kind, resources, **more):
    """Request the deletion of these; of one that is still in use it is requested again at the next look."""
    from azure.core.exceptions import HttpResponseError

    for resource in resources:
        if getattr(resource, "provisioning_state", "") != "Deleting":
            try:
                kind.begin_delete(group, resource.name, polling=False, **more)
            except HttpResponseError as error:
                if not re.search("InUse|NotFound|CannotBeDeleted|AnotherOperationInProgress", str(error)):
                    raise
