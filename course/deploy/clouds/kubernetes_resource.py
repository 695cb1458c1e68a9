"""What `deploy("kubernetes")` sends: a `DaskCluster` for the operator, a `Secret` for its key, by these options."""

import base64
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from course.cluster.certificates import Certificate
from course.cluster.task.task import TaskWorker
from course.deploy.clouds.cloud_options import CloudOptions, wrong
from course.deploy.clouds.kubernetes_checks import DNS_LABEL, PAIRS, cores, memory, quantity
from course.deploy.clouds.named_tasks import WORKER_PORTS
from course.deploy.options import DEPLOYED_IDLE

API = "kubernetes.dask.org/v1"
COMM, DASHBOARD = 8786, 8787  # Dask's own ports
#: Where a worker listens, and a parameter server in it.
WORKER_LISTENS = range(8788, 8788 + WORKER_PORTS)
_USER = 1000  # the image's user, in docker's files of ours too; the kubelet refuses names
_TLS = "/etc/course/tls"  # where pods find the Secret's two files
#: The user has them by its group: the kubelet leaves a Secret's files to root and to `fsGroup`.
_FOR_THE_USER = 0o440
#: What the scheduler's page answers: Dask's own, without its proxy, and the operator's question for the idle time.
_ROUTES = [f"distributed.http.scheduler.{page}" for page in ("prometheus", "info", "json")]
_ROUTES += ["distributed.http.health", "distributed.http.statics", "course.deploy.clouds.operators_idle_check"]
_SCHEDULER = {"cpu": "1", "memory": "2Gi"}


@dataclass(frozen=True)
class KubernetesOptions(CloudOptions):
    """The options of Kubernetes. `image`: of scheduler and workers, with the course in it; it has no default.

    `cores`, `memory`: of each worker, both asked for and its limit, in Kubernetes' own quantities: "2", "500m"; "4Gi".
    `gpus`: NVIDIA's, of each worker. `environment`: variables, `labels`: of all that is made. `idle`: seconds without
    work after which the operator ends the cluster. `namespace`, `context`: where, as in the file `kubeconfig`, by
    default those that `kubectl` takes.
    """

    image: str = ""
    cores: str | int = "1"
    memory: str = "2Gi"
    gpus: int = 0
    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    idle: int = int(DEPLOYED_IDLE)

    def check(self) -> None:
        """Raise ValueError or TypeError where Kubernetes would refuse an option, or take it for something else."""
        self.check_image()
        if self.namespace is not None:
            self.text("namespace", DNS_LABEL, "a name has up to 63 of a-z, 0-9 and '-', not at its ends (RFC 1123)")
        for name, check in (("memory", memory), ("cores", cores), ("gpus", quantity)):
            value = getattr(self, name)
            try:
                check(value if name == "memory" else str(value))
            except ValueError as error:
                raise ValueError(wrong(name, value, str(error))) from None
        for name, (key_pattern, value_pattern, legal) in PAIRS.items():
            pairs = getattr(self, name)
            if not isinstance(pairs, Mapping):
                raise TypeError(wrong(name, pairs, "give a dictionary of texts"))
            for key, value in pairs.items():
                texts = isinstance(key, str) and isinstance(value, str)
                if not texts or not re.fullmatch(key_pattern, key) or not re.fullmatch(value_pattern, value):
                    raise ValueError(wrong(name, {key: value}, legal))
        if isinstance(self.idle, bool) or not isinstance(self.idle, int) or self.idle < 60:
            legal = "give whole seconds, 60 or more: the operator looks twice a minute"
            raise ValueError(wrong("idle", self.idle, legal))


def dask_cluster(name: str, workers: int, options: KubernetesOptions) -> dict[str, Any]:
    """Return the resource of a cluster: requests equal to limits, nothing run by root, all connections by TLS."""
    many = str(max(1, math.ceil(cores(str(options.cores)))))
    environment = {"OMP_NUM_THREADS": many, "HOME": "/tmp", **options.environment}
    requests = {"cpu": str(options.cores), "memory": options.memory}
    requests |= {"nvidia.com/gpu": str(options.gpus)} if options.gpus else {}
    worker = ["dask", "worker", f"tls://{name}-scheduler:{COMM}", *_tls_files(), "--name", "$(DASK_WORKER_NAME)"]
    worker += ["--nthreads", "1", "--no-dashboard", "--memory-limit", str(memory(options.memory))]
    worker += ["--worker-class", f"{TaskWorker.__module__}.{TaskWorker.__name__}"]
    worker += ["--worker-port", f"{WORKER_LISTENS[0]}:{WORKER_LISTENS[-1]}"]
    scheduler = ["dask", "scheduler", "--protocol", "tls", *_tls_files(), "--host", "0.0.0.0", "--port", str(COMM)]
    scheduler += ["--dashboard-address", f":{DASHBOARD}"]
    listening = {"DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": json.dumps(_ROUTES), **environment}
    pods = {"worker": _pod("worker", name, worker, options.image, requests, environment)}
    pods["scheduler"] = _pod("scheduler", name, scheduler, options.image, _SCHEDULER, listening, _listening())
    return {
        "apiVersion": API,
        "kind": "DaskCluster",
        "metadata": {"name": name, "labels": _labels(options)},
        "spec": {
            "idleTimeout": options.idle,
            "worker": {"replicas": workers, "spec": pods["worker"]},
            "scheduler": {"spec": pods["scheduler"], "service": _service(name)},
        },
    }


def secret(name: str, certificate: Certificate, options: KubernetesOptions, uid: str | None = None) -> dict[str, Any]:
    """Return the Secret that the pods of the cluster `name` mount: its certificate and its key, never to be changed.

    `uid`: of the DaskCluster that it belongs to, with which Kubernetes deletes it; None for a look alone.
    """
    metadata: dict[str, Any] = {"name": f"{name}-tls", "labels": _labels(options)}
    if uid:
        metadata["ownerReferences"] = [{"apiVersion": API, "kind": "DaskCluster", "name": name, "uid": uid}]
    files = {"tls.crt": certificate.certificate, "tls.key": certificate.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "kubernetes.io/tls",
        "immutable": True,
        "data": {file: base64.b64encode(text.encode()).decode() for file, text in files.items()},
    }


def _labels(options):
    return {"app.kubernetes.io/managed-by": "course", **options.labels}


def _tls_files():
    return ["--tls-ca-file", f"{_TLS}/tls.crt", "--tls-cert", f"{_TLS}/tls.crt", "--tls-key", f"{_TLS}/tls.key"]


def _pod(role, cluster, command, image, requests, environment, listening=None):
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": role,
        "image": image,
        "command": command,
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "resources": {"limits": dict(requests), "requests": dict(requests)},
        "securityContext": closed,
        "volumeMounts": [{"name": "tls", "mountPath": _TLS, "readOnly": True}],
    }
    return {
        "containers": [container | (listening or {})],
        "volumes": [{"name": "tls", "secret": {"secretName": f"{cluster}-tls", "defaultMode": _FOR_THE_USER}}],
        "automountServiceAccountToken": False,  # a pod that computes has nothing to ask of the API
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _listening():
    health = {"httpGet": {"port": "http-dashboard", "path": "/health"}}
    return {
        "ports": [
            {"name": "tcp-comm", "containerPort": COMM, "protocol": "TCP"},
            {"name": "http-dashboard", "containerPort": DASHBOARD, "protocol": "TCP"},
        ],
        "readinessProbe": {**health, "periodSeconds": 1, "timeoutSeconds": 30},
        "livenessProbe": {**health, "initialDelaySeconds": 15, "periodSeconds": 20, "timeoutSeconds": 30},
    }


def _service(cluster):
    ports = [("tcp-comm", COMM), ("http-dashboard", DASHBOARD)]
    return {
        "type": "ClusterIP",
        "selector": {"dask.org/cluster-name": cluster, "dask.org/component": "scheduler"},
        "ports": [{"name": name, "protocol": "TCP", "port": port, "targetPort": name} for name, port in ports],
    }
