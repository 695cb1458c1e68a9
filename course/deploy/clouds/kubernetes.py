"""A cluster on Kubernetes: Dask's operator makes its pods of one resource, which the API checks before."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, ClassVar

from distributed.comm.addressing import parse_host_port

from course.cluster.certificates import new_certificate, security
from course.cluster.routes import Routes
from course.deploy.clouds.cloud_options import CLOUD_ANSWERS, CLOUD_CLUSTER_ENDS, CloudOptions
from course.deploy.clouds.kubernetes_resource import (
    API,
    COMM,
    WORKER_LISTENS,
    KubernetesOptions,
    dask_cluster,
    secret,
)
from course.deploy.launcher import DeployError
from course.deploy.lost_tasks import SLOW_JOIN_IS_TOLD

#: Seconds for Dask's operator to take up a resource; where it runs, one is enough.
OPERATOR_ANSWERS = 30.0

_EVERY = 0.5  # seconds between two looks
#: A container that waits for one of these will wait for ever; a first failed pull may have been the network's.
_HOPELESS = (
    "ImagePullBackOff",
    "InvalidImageName",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "RunContainerError",
)
_INSTALL = (
    "install Dask's operator: `helm install --repo https://helm.dask.org --create-namespace -n dask-operator "
    "--generate-name dask-kubernetes-operator`, or ask whoever runs the cluster to"
)


class KubernetesDeployer:
    """See `Deployer`. The scheduler is reached through the API's own connection, or by its name from inside.

    All processes talk by TLS, by a certificate that a Secret brings to the pods; it goes with the cluster.
    """

    library: ClassVar[str] = "dask_kubernetes"
    options: ClassVar[type[CloudOptions]] = KubernetesOptions
    dashboard_link: str | None = None
    address = ""

    def __init__(self, name: str, jobs: Mapping[str, int], options: KubernetesOptions):
        self._name, self._options = name, options
        self._resource = dask_cluster(name, sum(jobs.values()), options)
        self._ways: dict[str, str] = {}
        self.route = Routes(self._ways)
        self._certificate = new_certificate(days=30)
        self.security: Any = security(self._certificate)
        self._api: Any = None
        self._created, self._since = False, time.monotonic()
        self._opened = AsyncExitStack()

    async def prepare(self) -> None:
        """Send both resources for a check alone (`dryRun`): the API judges rights, namespace and schema."""
        import httpx
        import kr8s.asyncio

        own = self._options
        async with _asking():
            self._api = await kr8s.asyncio.api(namespace=own.namespace, context=own.context, kubeconfig=own.kubeconfig)
            try:
                await self._post("daskclusters", self._resource, API, dryRun="All")
                await self._post("secrets", secret(self._name, self._certificate, self._options), dryRun="All")
            except (kr8s.ServerError, httpx.HTTPStatusError) as error:
                if _status(error) == 404 and 'namespaces "' not in str(error):
                    raise DeployError(f"Kubernetes at {self._api.auth.server} has no DaskCluster: {_INSTALL}") from None
                raise

    def leftover(self) -> dict[str, Any] | None:
        """Return where the resource is, whatever another shell's kubeconfig calls current."""
        own = self._options.kubeconfig
        config = os.path.abspath(os.path.expanduser(own)) if own else os.environ.get("KUBECONFIG")
        context = self._api.auth.active_context or None
        where = {"kubeconfig": config, "context": context, "namespace": self._api.namespace}
        return {"name": self._name, "where": where}

    async def open(self) -> None:
        """Create the resource and what it owns, the key; when its scheduler is ready, open a way to it."""
        async with _asking():
            self._created, self._since = True, time.monotonic()
            resource = await self._post("daskclusters", self._resource, API)
            uid = resource["metadata"]["uid"]  # its pods wait for the key
            await self._post("secrets", secret(self._name, self._certificate, self._options, uid))
        try:
            async with asyncio.timeout(OPERATOR_ANSWERS):
                while not (phase := await self._phase()):
                    await asyncio.sleep(_EVERY)
        except TimeoutError:
            silent = f"nothing has taken up the DaskCluster for {OPERATOR_ANSWERS:.0f} s: does Dask's operator run"
            raise DeployError(f"{silent}, and may it see this namespace? If there is none, {_INSTALL}") from None
        if phase == "Error":
            raise DeployError("Dask's operator refuses the DaskCluster; its log, in its own namespace, says why")
        while not (ready := [pod for pod in await self._pods("scheduler") if _is_ready(pod)]):
            await asyncio.sleep(_EVERY)
        self.address = await self._way_to(ready[0])

    async def _way_to(self, pod):
        if "KUBERNETES_SERVICE_HOST" in os.environ:  # this process is inside of the cluster
            return f"tls://{self._name}-scheduler.{self._api.namespace}:{COMM}"
        return f"tls://{await self._forwarded(pod, COMM)}"

    async def _forwarded(self, pod, port):
        """Return where the API's own connection to a pod's port begins here."""
        from kr8s.asyncio.objects import Pod

        async with _asking():
            end = await Pod(pod, namespace=self._api.namespace, api=self._api)
            local = await self._opened.enter_async_context(end.portforward(port, local_port="auto"))
        return f"127.0.0.1:{local}"

    async def reach(self, addresses: Iterable[str]) -> None:
        """Open ways to the workers at these addresses, and to what listens beside them; from inside there are some."""
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            return
        hosts = {parse_host_port(address.partition("://")[2])[0] for address in addresses}
        for pod in await self._pods("worker"):
            host = pod.get("status", {}).get("podIP")
            for port in WORKER_LISTENS if host in hosts else ():
                if f"{host}:{port}" not in self._ways:
                    self._ways[f"{host}:{port}"] = await self._forwarded(pod, port)

    async def waiting(self) -> str:
        """Return why a pod is not there yet, in Kubernetes' words; raise where it will never be."""
        pods = await self._pods()
        reasons = [reason for pod in pods if (reason := _why_not(pod))]
        for reason, detail in reasons:
            if reason in _HOPELESS:
                raise DeployError(f"Kubernetes can't start a pod: {reason}. {detail}".strip())
        lines = [f"a pod waits: {reason}. {detail}".strip() for reason, detail in reasons]
        wanted = 1 + self._resource["spec"]["worker"]["replicas"]
        if len(pods) < wanted and time.monotonic() - self._since > SLOW_JOIN_IS_TOLD:
            looks = f"`kubectl get events -n {self._api.namespace}` says"
            lines += [f"{len(pods)} of {wanted} pods have been made; whether a quota refuses the others, {looks}"]
        return "; ".join(dict.fromkeys(lines))

    async def log(self) -> str:
        """Return the pods' logs, each under its name."""
        logs = []
        for pod in await self._pods():
            name = pod["metadata"]["name"]
            logs.append(f"--- {name}\n{(await self._answer(f'pods/{name}/log')).text}")
        return "\n".join(logs)

    async def close(self) -> None:
        """Delete the resource, and wait until it is gone; the operator's pods go with it."""
        if self._api is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOUD_ANSWERS):
                await self._opened.aclose()
        try:
            if self._created:
                await _delete(self._api, self._name)
                self._created = False
        finally:
            await _hang_up(self._api)

    @staticmethod
    async def end(leftover: dict[str, Any]) -> None:
        """Delete the resource that a killed client left."""
        import kr8s.asyncio

        async with _asking():
            api = await kr8s.asyncio.api(**leftover["where"])
        try:
            await _delete(api, leftover["name"])
        finally:
            await _hang_up(api)

    async def _post(self, url, body, version="v1", **parameters):
        own = {"version": version, "namespace": self._api.namespace, "url": url}
        checked = {"fieldValidation": "Strict", **parameters}
        async with self._api.call_api("POST", params=checked, content=json.dumps(body), **own) as answer:
            return answer.json()

    async def _phase(self):
        """Return how far the operator is with the resource, None before it has seen it."""
        return (await self._answer(f"daskclusters/{self._name}", API)).json().get("status", {}).get("phase")

    async def _pods(self, component=None):
        chosen = f"dask.org/cluster-name={self._name}" + (f",dask.org/component={component}" if component else "")
        return (await self._answer("pods", params={"labelSelector": chosen})).json()["items"] if self._api else []

    async def _answer(self, url, version="v1", **more):
        where = {"version": version, "namespace": self._api.namespace, "url": url}
        async with _asking(), self._api.call_api("GET", **where, **more) as answer:
            return answer


async def _hang_up(api):
    """Close the connection to the API, which kr8s itself would leave open; it opens again when something is asked."""
    if api._session:
        await api._session.aclose()


async def _delete(api, name):
    where = {"version": API, "namespace": api.namespace, "url": f"daskclusters/{name}", "raise_for_status": False}
    async with _asking(CLOUD_CLUSTER_ENDS):
        async with api.call_api("DELETE", **where) as answer:
            pass
        if answer.status_code != 404:
            answer.raise_for_status()
        while answer.status_code != 404:
            await asyncio.sleep(_EVERY)
            async with api.call_api("GET", **where) as answer:
                pass


def _is_ready(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _why_not(pod):
    """Return (reason, details) for a pod that isn't there yet, or None."""
    status = pod.get("status", {})
    for container in status.get("containerStatuses", []):
        waits = container.get("state", {}).get("waiting")
        if waits and waits.get("reason") not in ("ContainerCreating", "PodInitializing"):
            return waits.get("reason", "?"), waits.get("message", "")
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason", "?"), condition.get("message", "")
    return None


def _status(error):
    return getattr(getattr(error, "response", None), "status_code", None)


@asynccontextmanager
async def _asking(seconds: float | None = None) -> AsyncIterator[None]:
    """Within the `async with`, whatever goes wrong with the API is a DeployError with the next step."""
    import httpx
    import kr8s

    seconds = seconds or CLOUD_ANSWERS
    looks = "`kubectl get daskclusters` with the same context says more"
    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, kr8s.APITimeoutError):
        problem = (
            f"Kubernetes has not answered for {seconds:.0f} s; is its address in the kubeconfig right, and your VPN on?"
        )
    except httpx.TransportError as error:
        problem = f"Kubernetes can't be reached: {error}; is its address in the kubeconfig right, and your VPN on?"
    except (kr8s.ServerError, httpx.HTTPStatusError) as error:
        problem = f"Kubernetes says: {error}"
        status = _status(error)
        if status in (401, 403):
            problem += (
                ". Ask who runs the cluster for the right to create daskclusters and secrets and to read pods, and "
                "log in again"
            )
        elif status == 404:
            problem += f". Name one that there is by namespace=…; {looks}"
    except (ValueError, LookupError, OSError) as error:  # of the kubeconfig
        problem = (
            f"there are no credentials for Kubernetes ({error}): `kubectl config current-context` should name your "
            "cluster; give another by kubeconfig=… or context=…"
        )
    else:
        return
    raise DeployError(problem)
