"""A stand-in for Kubernetes' API on loopback: it judges by the operator's schema, and runs a resource's commands here.

It is no Kubernetes: no scheduler of pods, no operator, no images. What the real client library sends meets its schema,
and the commands, variables and ports of the pods are those of real processes.
"""

import asyncio
import socket
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml
from aiohttp import WSMsgType, web

from course.cluster.local_runtime.loop import LoopThread
from tests.course.deploy.clouds.operators_schema import wrong_secret
from tests.course.deploy.clouds.pods_here import Pods

TOKEN = "a token of the test's"
_CLUSTERS = "/apis/kubernetes.dask.org/v1/namespaces/{namespace}/daskclusters"
_PODS = "/api/v1/namespaces/{namespace}/pods"
_SECRETS = "/api/v1/namespaces/{namespace}/secrets"


class Kubernetes:
    """The API's state. `installed`: operator's definitions; `operator`: whether it runs, `phase`: what it says."""

    def __init__(self, folder, schema):
        self.folder, self._schema = folder, schema
        self.installed, self.operator, self.phase = True, True, "Running"
        self.pending: dict | None = None  # the status of every pod, instead of running it
        self.quota: int | None = None  # how many pods there may be
        self.asked: list[str] = []  # "POST daskclusters dryRun", …
        self.forwarded: list[str] = []  # "pod:port" of each connection
        self.resources: dict[str, dict] = {}
        self.secrets: dict[str, dict] = {}
        self.pods = Pods(folder)

    @property
    def kubeconfig(self):
        return str(self.folder / "kubeconfig")

    def write_kubeconfig(self, port, name="kubeconfig", token=TOKEN):
        """Write a kubeconfig that leads to this port; return its path."""
        told = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": "physics"}}],
            "current-context": "here",
        }
        (self.folder / name).write_text(yaml.safe_dump(told))
        return str(self.folder / name)

    def application(self):
        application = web.Application()
        application.add_routes(
            [
                web.get("/version/", self._version),
                web.post(_CLUSTERS, self._create),
                web.get(f"{_CLUSTERS}/{{name}}", self._cluster),
                web.delete(f"{_CLUSTERS}/{{name}}", self._delete),
                web.post(_SECRETS, self._create_secret),
                web.get(_PODS, self._list_pods),
                web.get(f"{_PODS}/{{name}}", self._pod),
                web.get(f"{_PODS}/{{name}}/log", self._log),
                web.get(f"{_PODS}/{{name}}/portforward", self._portforward),
            ]
        )
        return application

    async def _version(self, request):
        return web.json_response({"major": "1", "minor": "34", "gitVersion": "v1.34.0"})

    def _refusal(self, request):
        namespace = request.match_info["namespace"]
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _status(401, "Unauthorized")
        if "daskclusters" in request.path and not self.installed:
            return web.Response(status=404, text="404 page not found\n")
        if namespace == "closed" or (namespace == "keyless" and "secrets" in request.path):
            return _status(403, f'{request.path.rpartition("/")[2]} is forbidden: User "me" cannot create resource')
        return None if namespace in ("physics", "keyless") else _status(404, f'namespaces "{namespace}" not found')

    async def _create(self, request):
        self.asked.append(f"POST daskclusters {request.query.get('dryRun', '')}".strip())
        if refusal := self._refusal(request):
            return refusal
        made = await request.json()
        if errors := [error.message for error in self._schema.iter_errors(made["spec"])]:
            return _status(422, f"DaskCluster is invalid: {errors[0]}")
        if "dryRun" not in request.query:
            self.resources[made["metadata"]["name"]] = made
            made["metadata"]["uid"] = str(uuid.uuid4())
            if self.operator:
                made["status"] = {"phase": self.phase}
                await asyncio.to_thread(self._run_what_can)
        return web.json_response(made, status=201)

    async def _create_secret(self, request):
        self.asked.append(f"POST secrets {request.query.get('dryRun', '')}".strip())
        if refusal := self._refusal(request):
            return refusal
        made = await request.json()
        if wrong := wrong_secret(made):
            return _status(422, f"Secret is invalid: {wrong}")
        if "dryRun" not in request.query:
            self.secrets[made["metadata"]["name"]] = made
            self._collect()
            await asyncio.to_thread(self._run_what_can)
        return web.json_response(made, status=201)

    def _collect(self):
        """Delete what belongs to resources that are gone, as Kubernetes' garbage collector does."""
        uids = {one["metadata"]["uid"] for one in self.resources.values()}
        for name, one in list(self.secrets.items()):
            if not uids.issuperset(owner["uid"] for owner in one["metadata"].get("ownerReferences", ())):
                del self.secrets[name]

    async def _cluster(self, request):
        found = self.resources.get(request.match_info["name"])
        return web.json_response(found) if found else _status(404, "not found")

    async def _delete(self, request):
        self.asked.append("DELETE daskclusters")
        found = self.resources.pop(request.match_info["name"], None)
        self._collect()
        await asyncio.to_thread(self.pods.end)
        return web.json_response(found) if found else _status(404, "not found")

    async def _list_pods(self, request):
        role = dict(part.split("=") for part in request.query["labelSelector"].split(",")).get("dask.org/component")
        return web.json_response({"items": [self._described(name) for name in self._pods() if (role or "") in name]})

    async def _pod(self, request):
        return web.json_response(self._described(request.match_info["name"]))

    async def _log(self, request):
        return web.Response(text=(self.folder / request.match_info["name"]).read_text())

    async def _portforward(self, request):
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        try:
            reader, writer = await asyncio.open_connection(*self._end(request))
        except OSError:  # the pod is ready, and does not listen there yet
            await answer.close()
            return answer
        for channel in (b"\x00", b"\x01"):  # which port it is, on the channels of data and of errors
            await answer.send_bytes(channel + int(request.query["ports"]).to_bytes(2, "little"))
        back = asyncio.ensure_future(_back(reader, answer))
        async for message in answer:
            if message.type == WSMsgType.BINARY:
                writer.write(message.data[1:])
        back.cancel()
        writer.close()
        return answer

    def _end(self, request):
        pod, port = request.match_info["name"], request.query["ports"]
        self.forwarded.append(f"{pod}:{port}")
        if pod in self.pods.hosts:
            return self.pods.hosts[pod], int(port)
        return "127.0.0.1", self.pods.ports[port]

    def _pods(self):
        made = [f"{name}-{role}" for name in self.resources for role in ("scheduler", "worker-0")]
        return (list(self.pods.processes) or made)[: self.quota]

    def _described(self, name):
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(self._healthy())}]}
        metadata = {"name": name, "namespace": "physics"}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "status": self.pending or ready | {"podIP": self.pods.hosts.get(name, "")},
        }

    def _healthy(self):
        """Whether the scheduler answers where its readiness probe asks."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.pods.ports.get("8787", 9)), 5):
            return True
        return False

    def _run_what_can(self):
        """Start the pods of every resource that don't run yet; they wait for the Secrets that they mount."""
        for made in self.resources.values():
            pods = [made["spec"][role]["spec"] for role in ("scheduler", "worker")]
            mounted = {volume["secret"]["secretName"] for pod in pods for volume in pod["volumes"]}
            if self.operator and not self.pending and not self.pods.processes and mounted <= self.secrets.keys():
                self.pods.run(made, self.secrets)


async def _back(reader, answer):
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            await answer.send_bytes(b"\x00" + data)
    await answer.close()


def _status(code, message):
    told = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}
    return web.json_response(told, status=code)


@contextmanager
def kubernetes_here(folder: Path, schema):
    """Within the `with`, a `Kubernetes` answers; `schema` judges what is sent."""
    here, thread = Kubernetes(folder, schema), LoopThread()

    async def serve():
        runner = web.AppRunner(here.application(), shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        here.write_kubeconfig(runner.addresses[0][1])
        return runner

    runner = thread.run(serve)
    try:
        yield here
    finally:
        here.pods.end()
        thread.run(runner.cleanup)
        thread.stop()
