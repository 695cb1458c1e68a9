"""compose.yaml: in which order its services start, by what, and what is wrong with who can reach what."""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import yaml

from tests.deploy.docker import dockerfile

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "docker"


def compose():
    """Return compose.yaml as a dictionary."""
    return yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))


def plan(file, stages):
    """Return what starts, in its order: dicts of `name`, `command`, `health` (None: it ends by itself), `after`."""
    services = file["services"]
    once = {
        name
        for service in services.values()
        for name, on in service.get("depends_on", {}).items()
        if on["condition"] == "service_completed_successfully"
    }
    order = TopologicalSorter({name: service.get("depends_on", {}) for name, service in services.items()})
    return [_one(name, services[name], stages, name in once) for name in order.static_order()]


def _one(name, service, stages, once):
    target = service["image"].removeprefix("course-")
    check = service.get("healthcheck", {}).get("test")
    health = check[1:] if check else dockerfile.health(stages, target)
    after = {other: on["condition"] for other, on in service.get("depends_on", {}).items()}
    command = service.get("command") or dockerfile.command(stages, target)
    return {"name": name, "command": command, "health": None if once else health, "after": after}


def faults(file, stages):
    """Return what is wrong with who can reach what, and as what, a sentence each."""
    found = []
    for name, service in file["services"].items():
        for port in service.get("ports", []):
            if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", str(port)):
                found.append(f"{name}: port {port} is open to other machines")
        if service.get("cap_drop") != ["ALL"] or "no-new-privileges:true" not in service.get("security_opt", []):
            found.append(f"{name} keeps rights that it needs not")
        if service.get("privileged") or service.get("network_mode") == "host" or "user" in service:
            found.append(f"{name} is privileged, on the host's network, or another user than the image's")
        written = [v for v in service.get("volumes", []) if v.startswith("keys:") and not v.endswith(":ro")]
        if written and name != "keys":
            found.append(f"{name} may write the keys")
        if any(re.match(r"[./~]", volume) for volume in service.get("volumes", [])):
            found.append(f"{name} sees a folder of the host")
        if dockerfile.SECRET.search(str(service.get("environment", ""))):
            found.append(f"{name}: a secret stands in its environment")
        target = service.get("image", "").removeprefix("course-")
        if target not in stages:
            found.append(f"{name}: no target of the Dockerfile makes the image {service.get('image')}")
        elif name != "keys" and not (service.get("healthcheck") or dockerfile.health(stages, target)):
            found.append(f"{name} has no health check")
    used = {name for service in file["services"].values() for name in service.get("networks", [])}
    found += [f"network {name} is not used or not there" for name in used ^ file["networks"].keys()]
    return found
