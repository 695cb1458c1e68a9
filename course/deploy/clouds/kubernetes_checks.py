"""What is wrong with a `DaskCluster` resource, told before it is sent: the API would refuse it later, or drop it.

Names by RFC 1123; quantities, labels, ports and environment as in the Kubernetes API's reference,
https://kubernetes.io/docs/reference/kubernetes-api/.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_POWERS: dict[str, Any] = {"": 1, "m": Decimal("0.001")}
_POWERS |= {name: 1000**power for power, name in enumerate("kMGTPE", 1)}
_POWERS |= {f"{name}i": 1024**power for power, name in enumerate("KMGTPE", 1)}
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # a DNS label, RFC 1123, section 2.1
_PORT_NAME = re.compile(r"(?=.{1,15}$)(?!.*--)(?=.*[a-z])[a-z0-9]([-a-z0-9]*[a-z0-9])?")  # RFC 6335, section 5.1
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_IMAGE = re.compile(  # the reference's grammar, https://github.com/distribution/reference
    r"([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
#: A name may be so long that `NAME-scheduler` is a DNS label still.
_LONGEST_NAME = 63 - len("-scheduler")
#: Less memory than this, and somebody meant another unit: torch alone takes 200 MB.
_LEAST_MEMORY = 64 * 1024**2


def check_resource(resource: Mapping[str, Any]) -> None:
    """Raise ValueError with everything that is wrong with a `DaskCluster` resource, a line each."""
    try:
        problems = list(_nulls(resource, "")) or list(_problems(resource))
    except KeyError as error:
        problems = [f"{error.args[0]} is missing"]
    except (AttributeError, TypeError) as error:
        problems = [f"a part of it has another form than the API's: {error}"]
    if problems:
        raise ValueError("\n".join(problems))


def quantity(text: object) -> Decimal:
    """Return what a quantity of Kubernetes' says, "500m" or "4Gi"; ValueError with the legal forms."""
    found = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise ValueError(f"{text!r} is no quantity: say cores as '2' or '500m', memory as '4G' (10^9) or '4Gi' (2^30)")
    return Decimal(found[1]) * _POWERS[found[2] or ""]


def cores(text: object) -> Decimal:
    """Return how many cores a quantity says; ValueError unless it is a thousandth of a core or more."""
    found = quantity(text)
    if found < Decimal("0.001"):
        raise ValueError(f"{text!r} cores is less than a thousandth of one; say '500m' or '2'")
    return found


def memory(text: object) -> int:
    """Return how many bytes a quantity says; ValueError where it can't have been meant so."""
    found = quantity(text)
    if found < _LEAST_MEMORY:
        raise ValueError(f"{text!r} is {found:f} bytes; say '512Mi' or '2G'")
    return int(found)


def named(text: object) -> str:
    """Return `text`, a DNS label; ValueError with what RFC 1123 asks."""
    if not isinstance(text, str) or not _LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is no name: up to 63 of a-z, 0-9 and '-', not at its ends (RFC 1123)")
    return text


def image(text: object) -> str:
    """Return `text`, the name of an image; ValueError with its form."""
    if not isinstance(text, str) or not _IMAGE.fullmatch(text):
        raise ValueError(f"{text!r} is no image's name: 'registry.example.org/group/course:1.0', without capitals")
    return text


def variable(name: object, value: object) -> None:
    """Raise ValueError unless these are an environment variable's name and value."""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise ValueError(f"{name!r} is no variable's name: letters, digits, '_', '-' and '.', no digit first")
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r}: a variable's value is a text")


def label(key: object, value: object) -> None:
    """Raise ValueError unless these are a label's key and value."""
    if not isinstance(key, str) or not _LABEL_KEY.fullmatch(key):
        raise ValueError(
            f"{key!r} is no label's key: up to 63 letters, digits, '-', '_' and '.', perhaps after 'dns.name/'"
        )
    if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
        raise ValueError(f"{key}={value!r}: a label's value is up to 63 letters, digits, '-', '_' and '.'")


def _nulls(part, path):
    """Yield a line for each null: the API takes it for "as by default", or refuses it."""
    items = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, (list, tuple)) else ()
    for key, value in items:
        if value is None:
            yield f"{path}{key} is null: leave it out"
        yield from _nulls(value, f"{path}{key}.")


def _problems(resource):
    spec, metadata = resource["spec"], resource["metadata"]
    yield from _told("metadata.name", named, metadata["name"])
    if len(str(metadata["name"])) > _LONGEST_NAME:
        yield f"metadata.name is longer than {_LONGEST_NAME}: the operator makes longer names of it"
    for key, value in metadata.get("labels", {}).items():
        yield from _told("metadata.labels", label, key, value)
    yield from _whole("spec.idleTimeout", spec.get("idleTimeout", 0), 0, 2**31 - 1)
    yield from _whole("spec.worker.replicas", spec["worker"]["replicas"], 1, 10_000)
    for role in ("worker", "scheduler"):
        yield from _pod(f"spec.{role}.spec", spec[role]["spec"])
    ports = {port["name"] for one in spec["scheduler"]["spec"]["containers"] for port in one.get("ports", ())}
    for number, port in enumerate(spec["scheduler"]["service"]["ports"]):
        path = f"spec.scheduler.service.ports.{number}"
        yield from _port(path, port, "port")
        if port["targetPort"] not in ports:
            yield f"{path}.targetPort is {port['targetPort']!r}; the scheduler's ports are {', '.join(sorted(ports))}"


def _pod(path, pod):
    if pod.get("securityContext", {}).get("runAsNonRoot") is not True:
        yield f"{path}.securityContext.runAsNonRoot is not true: nothing here needs root"
    volumes = pod.get("volumes", ())
    for number, volume in enumerate(volumes):
        yield from _told(f"{path}.volumes.{number}.name", named, volume["name"])
        if volume["secret"].get("defaultMode", 0o644) & 0o337:
            yield f"{path}.volumes.{number}.secret.defaultMode is more than 0440: a key is for its user's eyes alone"
    for number, container in enumerate(pod["containers"]):
        at = f"{path}.containers.{number}"
        for place, mount in enumerate(container.get("volumeMounts", ())):
            if mount["name"] not in [volume["name"] for volume in volumes]:
                yield f"{at}.volumeMounts.{place}.name is {mount['name']!r}, which is none of the pod's volumes"
        yield from _told(f"{at}.name", named, container["name"])
        yield from _told(f"{at}.image", image, container["image"])
        for one in container.get("env", ()):
            yield from _told(f"{at}.env", variable, one.get("name"), one.get("value"))
        for place, port in enumerate(container.get("ports", ())):
            yield from _port(f"{at}.ports.{place}", port, "containerPort")
        yield from _resources(f"{at}.resources", container.get("resources", {}))
        for probe in ("readinessProbe", "livenessProbe"):
            target = container.get(probe, {}).get("httpGet", {}).get("port")
            if target not in (None, *(port["name"] for port in container.get("ports", ()))):
                yield f"{at}.{probe}.httpGet.port is {target!r}, which is none of its ports"


def _resources(path, resources):
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name in ("cpu", "memory"):
        if name not in limits or name not in requests:
            yield f"{path} lacks {name} in limits or requests: the pod would get what is left over"
    for side, quantities in (("limits", limits), ("requests", requests)):
        for name, text in quantities.items():
            yield from _told(f"{path}.{side}.{name}", {"cpu": cores, "memory": memory}.get(name, quantity), text)
    for name in requests.keys() & limits.keys():
        if requests[name] != limits[name]:
            yield f"{path}: {name} asks for {requests[name]!r}, its limit is {limits[name]!r}; both are to be the same"


def _port(path, port, key):
    yield from _whole(f"{path}.{key}", port.get(key), 1, 65535)
    if not isinstance(port.get("name"), str) or not _PORT_NAME.fullmatch(port["name"]):
        yield f"{path}.name is {port.get('name')!r}: up to 15 of a-z, 0-9 and single '-', with a letter (RFC 6335)"


def _whole(path, number, least, most):
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        yield f"{path} is {number!r}; give a whole number from {least} to {most}"


def _told(path, check, *given):
    try:
        check(*given)
    except ValueError as error:
        yield f"{path}: {error}"
