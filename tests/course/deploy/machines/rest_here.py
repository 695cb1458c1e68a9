"""Google Cloud and Azure behind the HTTP boundary of their own libraries: what is asked for is kept and answered.

No socket of theirs is opened. A machine gets a `Computer`, at 127.0.0.1, which runs its start-up script.
"""

import base64
import io
import json
import re
import threading
from urllib.parse import parse_qs, urlsplit

from tests.course.deploy.machines.computers_here import Computer

SUBSCRIPTION = "00000000-1111-2222-3333-444444444444"
IDENTITY = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/course/providers/Microsoft.ManagedIdentity"
    "/userAssignedIdentities/course"
)


class Here:
    """A cloud that keeps what it is asked for. `refuse(kind, count)` gives an error for the count-th new one of a kind.

    `boots`: whether machines' scripts run; `pull`: the exit code of `docker pull` in them; `asked`: (kind, body) of all
    that was asked for.
    """

    def __init__(self, folder):
        self.folder, self.boots, self.pull, self.refuse = folder, True, 0, lambda kind, count: None
        self.things = {}  # path -> what is there
        self.computers, self.asked, self.lock = {}, [], threading.RLock()

    def answer(self, method, url, body=None):
        """Return (status, JSON) for a request."""
        parts = urlsplit(url)
        query = {name: one for name, [one, *_] in parse_qs(parts.query).items()}
        with self.lock:
            try:
                text = body.decode() if isinstance(body, bytes) else body or ""
                given = json.loads(text) if text.startswith("{") else text
                return 200, self.handle(method, parts.netloc, parts.path, query, given)
            except Refused as refused:
                return refused.status, refused.body

    def add(self, kind, path, thing):
        """Keep a new thing, or refuse it."""
        if (kind, thing) not in self.asked:
            self.asked.append((kind, thing))
        count = sum(one == kind for one, _ in self.asked)
        self.lock.release()  # others are answered meanwhile
        try:
            error = self.refuse(kind, count)
        finally:
            self.lock.acquire()
        if error:
            raise error
        self.things[path] = thing

    def boot(self, path, name, script):
        """Start the machine's computer."""
        if self.boots:
            self.computers[path] = Computer(self.folder / name, script, lambda: self.off(path), self.pull)
            self.computers[path].start()  # it may end at once

    def unplug(self, path):
        """Take the machine's computer from the net."""
        if path in self.computers:
            self.computers[path].pull_the_plug()

    def close(self):
        """End every computer."""
        for path in list(self.computers):
            self.unplug(path)

    def left(self):
        """Return the names of all that is there, and of what runs."""
        return [*self.things, *(path for path, one in self.computers.items() if not one.wait())]


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status, body):
        self.status, self.body = status, body


def google_error(status, message, reason="notFound"):
    """Return Google's way to refuse."""
    error = {"code": status, "message": message, "errors": [{"message": message, "reason": reason}]}
    return Refused(status, {"error": error})


class Google(Here):
    """Compute Engine: machines, firewall rules, operations; and the tokens of a service account."""

    zones, types, state = ("us-central1-a",), ("e2-standard-2",), "RUNNING"

    def handle(self, method, host, path, query, body):
        """Return the answer; raise Refused."""
        if host == "oauth2.googleapis.com":
            return {"access_token": "a token", "expires_in": 3600, "token_type": "Bearer"}
        if found := re.fullmatch(r".*/zones/([^/]+)", path):
            return self._known(path, found[1], self.zones)
        if found := re.fullmatch(r".*/machineTypes/([^/]+)", path):
            return self._known(path, found[1], self.types)
        path = path.removeprefix("/compute/v1/")
        if method == "POST":
            return self._insert(f"{path}/{body['name']}", body)
        if method == "DELETE":
            return self._remove(path)
        matches = _filter(query.get("filter", ""))
        found = [one for where, one in self.things.items() if where.startswith(f"{path}/") and matches(one)]
        for one in [one for one in found if one.get("status") == "STOPPING"]:  # the next look finds it gone
            self.things = {where: thing for where, thing in self.things.items() if thing is not one}
        return {"items": [dict(one) for one in found]} if found else {}

    def _known(self, path, name, known):
        if name not in known:
            raise google_error(404, f"The resource '{path.removeprefix('/compute/v1/')}' was not found")
        return {"name": name}

    def _insert(self, path, body):
        kind = path.split("/")[-2]
        self.add(kind, path, dict(body))
        if kind == "instances":
            network = self.things[path]["networkInterfaces"][0]
            network["networkIP"] = "127.0.0.1"
            for one in network.get("accessConfigs", []):
                one["natIP"] = "127.0.0.1"
            self.things[path]["status"] = self.state
            script = next(one["value"] for one in body["metadata"]["items"] if one["key"] == "user-data")
            self.boot(path, body["name"], script)
        return {"id": "1", "name": "operation-1", "status": "DONE"}

    def _remove(self, path):
        if path not in self.things:
            raise google_error(404, f"The resource '{path}' was not found")
        self.unplug(path)
        if "/instances/" in path:
            self.things[path]["status"] = "STOPPING"
        else:
            del self.things[path]
        return {"id": "2", "status": "RUNNING"}

    def off(self, path):
        """The machine has shut itself down: it stops, and its disk stays."""
        if path in self.things:
            self.things[path]["status"] = "TERMINATED"

    def request(self, http, uri, method="GET", body=None, **_):
        """Stand in for `httplib2.Http.request`."""
        import httplib2

        status, told = self.answer(method, uri, body)
        return httplib2.Response({"status": str(status), "content-type": "application/json"}), json.dumps(told).encode()


def _filter(text):
    if found := re.fullmatch(r'name eq "(.*)"', text):
        return lambda one: re.fullmatch(found[1], one["name"])
    if found := re.fullmatch(r"labels\.([\w-]+)=(.*)", text):
        return lambda one: one.get("labels", {}).get(found[1]) == found[2]
    if found := re.fullmatch(r"name=(.*)", text):
        return lambda one: one["name"] == found[1]
    if found := re.fullmatch(r"targetLink:(.*)", text):
        return lambda one: found[1] in one["targetLink"]
    raise AssertionError(f"this stand-in does not know the filter {text!r}")


def azure_error(status, code, message="A message."):
    """Return Azure's way to refuse."""
    return Refused(status, {"error": {"code": code, "message": message}})


class Azure(Here):
    """Azure's resource manager: a store of resources by path; and the tokens of an application."""

    sizes = ("Standard_D2s_v5",)

    def handle(self, method, host, path, query, body):
        """Return the answer; raise Refused."""
        if host == "login.microsoftonline.com":
            return _sign_in(path)
        if path.endswith("/vmSizes"):
            if "/locations/eastus/" not in path:
                raise azure_error(400, "NoRegisteredProviderFound", f"No provider was found for location in '{path}'")
            return {"value": [{"name": name} for name in self.sizes]}
        if path.endswith("/subnets"):
            if "/virtualNetworks/course/" not in path:
                raise azure_error(404, "ResourceNotFound", f"The resource '{path}' was not found: virtualNetworks")
            return {"value": [{"id": f"{path}/default", "name": "default"}]}
        if method == "PUT":
            return self._put(path, body)
        if method == "DELETE":
            return self._remove(path)
        if path in self.things:
            return self.things[path]
        return {"value": [one for where, one in self.things.items() if where.rpartition("/")[0] == path]}

    def _put(self, path, body):
        kind, name = path.split("/")[-2:]
        thing = {**body, "id": path, "name": name}
        thing["properties"] = {**body.get("properties", {}), "provisioningState": "Succeeded"}
        if kind == "publicIPAddresses":
            thing["properties"]["ipAddress"] = "127.0.0.1"
        for one in thing["properties"].get("ipConfigurations", []):
            one["properties"]["privateIPAddress"] = "127.0.0.1"
        self.add(kind, path, thing)
        if kind == "virtualMachines":
            disk = path.replace("virtualMachines", "disks") + "_OsDisk_1_0123"
            self.things[disk] = {"id": disk, "name": disk.rpartition("/")[2], "location": "eastus", "properties": {}}
            self.boot(path, name, base64.b64decode(thing["properties"]["osProfile"]["customData"]).decode())
        return thing

    def _remove(self, path):
        there = "".join(self.things)
        kind = path.split("/")[-2]
        if kind == "networkInterfaces" and "/virtualMachines/" in there:
            raise azure_error(400, "NicInUse")
        if kind in ("publicIPAddresses", "networkSecurityGroups") and "/networkInterfaces/" in there:
            raise azure_error(400, "InUse: it cannot be deleted")
        self.unplug(path)
        self.things.pop(path, None)
        return {}

    def off(self, path):
        """The machine has shut itself down: it stays, and costs; unless it asked for its deletion before."""
        if any("-X DELETE" in line and path in line for line in self.computers[path].notes("curl")):
            self.things.pop(path, None)

    def send(self, adapter, request, **_):
        """Stand in for `requests.adapters.HTTPAdapter.send`."""
        import urllib3

        status, told = self.answer(request.method, request.url, request.body)
        raw = io.BytesIO(json.dumps(told).encode())
        headers = {"content-type": "application/json"}
        answer = urllib3.HTTPResponse(raw, headers, status, preload_content=False, reason="a stand-in's")
        return adapter.build_response(request, answer)


def _sign_in(path):
    login = "https://login.microsoftonline.com/tenant"
    if path.endswith("/token"):
        return {"access_token": "a token", "expires_in": 3600, "token_type": "Bearer"}
    if "discovery/instance" in path:
        metadata = {"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net"}
        metadata["aliases"] = ["login.microsoftonline.com"]
        return {"tenant_discovery_endpoint": f"{login}/v2.0/.well-known/openid-configuration", "metadata": [metadata]}
    return {"token_endpoint": f"{login}/oauth2/v2.0/token", "authorization_endpoint": login, "issuer": f"{login}/v2.0"}
