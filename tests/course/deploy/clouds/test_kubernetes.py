"""`deploy("kubernetes")` against a stand-in for the API, by the real client library; see `kubernetes_here`."""

import asyncio
import json
import logging
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import pytest
import torch
from distributed import get_worker
from distributed.core import rpc

from course import linear_regression, mean, train
from course.cluster.certificates import new_certificate, security
from course.deploy import deploy
from course.deploy.clouds import __main__ as ending
from course.deploy.clouds import cloud_runtime
from course.deploy.clouds import kubernetes as deployer
from course.deploy.clouds.kubernetes_resource import KubernetesOptions, secret
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries
from tests.helpers.shells import eventually

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("clouds_libraries")]

IMAGE = "registry.example.org/physics/course:1.0"


@pytest.fixture
def kubernetes(clouds_libraries, tmp_path):
    from tests.course.deploy.clouds.kubernetes_here import kubernetes_here
    from tests.course.deploy.clouds.operators_schema import operators_schema

    with kubernetes_here(tmp_path, operators_schema()) as here:
        yield here
        assert here.resources == {} and here.secrets == {} and entries() == []


def test_a_cluster_on_a_stand_in_for_kubernetes_works_by_tls_alone_and_leaves_no_resource(kubernetes, monkeypatch):
    options = {"image": IMAGE, "memory": "1Gi", "kubeconfig": kubernetes.kubeconfig}
    with deploy("kubernetes", worker=1, **options) as cluster:
        assert mean([1.0, 2.0, 6.0], parts=2, executor=cluster.executor) == 3.0
        assert [(one.kind, [one.name]) for one in entries()] == [("kubernetes", list(kubernetes.resources))]
        log = cluster.log("/job:worker/task:0")
        assert "Scheduler at:" in log and "-worker-0\n" in log
        everyone = cluster.client.scheduler_info(n_workers=-1)
        assert all(one.startswith("tls://") for one in (everyone["address"], *everyone["workers"]))
        nobody_else_gets_in(kubernetes)
        the_key_is_in_the_secret_alone(kubernetes, log)
        the_operator_is_told_how_long_it_is_idle(kubernetes, monkeypatch)
    cluster.close()
    looks = ["POST daskclusters All", "POST secrets All"]
    assert kubernetes.asked == [*looks, "POST daskclusters", "POST secrets", "DELETE daskclusters"]


def test_a_training_on_kubernetes_reaches_its_parameter_servers_through_the_api(kubernetes):
    options = {"image": IMAGE, "memory": "1Gi", "kubeconfig": kubernetes.kubeconfig}
    with deploy("kubernetes", ps=1, worker=1, **options) as cluster:
        assert cluster.tasks == ["/job:ps/task:0", "/job:worker/task:0"] and cluster.missing() == []
        assert trained(cluster) == 30
        [host] = {address.partition(":")[0] for address in cluster.spec.as_dict()["ps"]}
        [pod] = [pod for pod, own in kubernetes.pods.hosts.items() if own == host]
        assert {f"{pod}:8788", f"{pod}:8789"} <= set(kubernetes.forwarded)  # the task, and the parameter server in it
        with cluster.at("/job:worker/task:0"):
            assert cluster.executor.submit(host_of_task).result(60) in set(kubernetes.pods.hosts.values()) - {host}
        with pytest.raises(RuntimeError, match=r"no process of deploy\('kubernetes'\) gets a signal from here"):
            cluster.kill("/job:ps/task:0")


def trained(cluster):
    return train(linear_regression(), cluster, optimizer=partial(torch.optim.SGD, lr=0.05), total_steps=30).version


def host_of_task():
    return get_worker().address.split("://")[1].partition(":")[0]


def nobody_else_gets_in(kubernetes):
    where = f"127.0.0.1:{kubernetes.pods.ports['8786']}"

    async def ask(scheme, known):
        arguments = known.get_connection_args("client")
        async with rpc(f"{scheme}://{where}", connection_args=arguments, timeout=0.5) as scheduler:
            await scheduler.identity()

    for scheme, known in (("tcp", security(None)), ("tls", security(new_certificate()))):
        with pytest.raises(OSError):
            asyncio.run(ask(scheme, known))


def the_key_is_in_the_secret_alone(kubernetes, log):
    [key] = {file.read_text() for file in kubernetes.folder.rglob("tls.key")}
    modes = {file.stat().st_mode & 0o777 for file in kubernetes.folder.rglob("tls.*")}
    assert "PRIVATE KEY" in key and modes == {0o440}
    told = json.dumps([*kubernetes.resources.values(), log])
    assert not [line for line in key.splitlines() if line in told]


def the_operator_is_told_how_long_it_is_idle(kubernetes, monkeypatch):
    """The operator's own function asks; its second way would be Dask's protocol without TLS."""

    async def where(service, namespace, port_name="tcp-comm", **_):
        return f"tcp://127.0.0.1:{kubernetes.pods.ports['8787' if port_name == 'http-dashboard' else '8786']}"

    def told():
        try:
            return asyncio.run(controller.check_scheduler_idle("service", "physics", logging.getLogger("operator")))
        except TypeError:  # the operator takes None, which means "there is work", for a number
            return None

    from dask_kubernetes.operator.controller import controller

    monkeypatch.setattr(controller, "get_scheduler_address", where)
    assert 0 <= time.time() - eventually(told) < 600
    with pytest.raises(urllib.error.HTTPError, match="404") as refusal:  # nor does it let anyone retire workers
        urllib.request.urlopen(
            f"http://127.0.0.1:{kubernetes.pods.ports['8787']}/api/v1/retire_workers", b"{}", timeout=10
        )
    refusal.value.close()


def refused(kubernetes, **options):
    with pytest.raises(DeployError) as caught:
        deploy("kubernetes", **{"image": IMAGE, "kubeconfig": kubernetes.kubeconfig, **options})
    return str(caught.value)


def test_who_gets_no_cluster_of_kubernetes_hears_the_next_step(kubernetes, tmp_path, free_ports, monkeypatch):
    words = refused(kubernetes, namespace="chemistry")
    assert 'namespaces "chemistry" not found. Name one that there is by namespace=…' in words
    assert "Ask who runs the cluster for the right to create daskclusters and secrets" in refused(
        kubernetes, namespace="closed"
    )
    assert "secrets is forbidden" in refused(kubernetes, namespace="keyless")
    port = int(Path(kubernetes.kubeconfig).read_text().partition("127.0.0.1:")[2].split()[0])
    other = kubernetes.write_kubeconfig(port, "other", token="none of this API's")
    assert "Kubernetes says: Unauthorized" in refused(kubernetes, kubeconfig=other)
    nowhere = kubernetes.write_kubeconfig(free_ports(1)[0], "nowhere")
    assert "Kubernetes can't be reached: " in refused(kubernetes, kubeconfig=nowhere)
    assert "there are no credentials for Kubernetes" in refused(kubernetes, kubeconfig=str(tmp_path / "none"))
    assert "there are no credentials for Kubernetes" in refused(kubernetes, context="nothing")
    kubernetes.installed = False
    assert "has no DaskCluster: install Dask's operator: `helm install" in refused(kubernetes)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(deployer, "CLOUD_ANSWERS", 0.5)
        mute = kubernetes.write_kubeconfig(silent.getsockname()[1], "mute")
        assert "Kubernetes has not answered for 0 s; is its address" in refused(kubernetes, kubeconfig=mute)
    assert "POST daskclusters" not in kubernetes.asked


def test_an_operator_that_does_not_run_is_told_and_the_resource_deleted(kubernetes, monkeypatch):
    monkeypatch.setattr(deployer, "OPERATOR_ANSWERS", 0.5)
    kubernetes.operator = False
    assert "does Dask's operator run, and may it see this namespace?" in refused(kubernetes)
    kubernetes.operator, kubernetes.phase, kubernetes.pending = True, "Error", {"phase": "Pending"}
    assert "Dask's operator refuses the DaskCluster; its log" in refused(kubernetes)
    assert kubernetes.asked[-1] == "DELETE daskclusters"


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}


def test_waiting_for_pods_on_kubernetes_can_be_interrupted_and_leaves_nothing(kubernetes, monkeypatch):
    monkeypatch.setattr(cloud_runtime, "DEPLOYED_LOOKS_EVERY", 0.1)
    kubernetes.pending = {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
    options = {"image": IMAGE, "kubeconfig": kubernetes.kubeconfig}
    with pytest.raises(KeyboardInterrupt):
        deploy("kubernetes", **options, say=lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
    assert kubernetes.asked[-1] == "DELETE daskclusters"


def test_pods_that_a_quota_refuses_are_told_of_with_the_next_step(kubernetes, monkeypatch):
    monkeypatch.setattr(cloud_runtime, "DEPLOYED_LOOKS_EVERY", 0.1)
    monkeypatch.setattr(deployer, "SLOW_JOIN_IS_TOLD", 0.2)
    kubernetes.pending, kubernetes.quota, said = {"phase": "Pending"}, 1, []

    def say(line, **_):
        said.append(line)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        deploy("kubernetes", worker=2, image=IMAGE, kubeconfig=kubernetes.kubeconfig, say=say)
    looks = "`kubectl get events -n physics` says"
    assert said == [f"1 of 3 pods have been made; whether a quota refuses the others, {looks}"]


def test_a_full_cluster_is_only_told_and_an_image_that_is_not_there_ends_the_start(kubernetes, monkeypatch):
    monkeypatch.setattr(cloud_runtime, "DEPLOYED_LOOKS_EVERY", 0.1)
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    kubernetes.pending = {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
    said = []

    def say(line, **_):
        said.append(line)
        kubernetes.pending = {"phase": "Pending", "containerStatuses": [{"state": waiting}]}

    assert "can't start a pod: ImagePullBackOff. Back-off pulling image" in refused(kubernetes, say=say)
    assert said == ["a pod waits: Unschedulable. 0/3 nodes"]
    assert kubernetes.asked[-1] == "DELETE daskclusters"


def test_what_a_killed_client_left_on_kubernetes_is_deleted_by_another_process(kubernetes):
    kubernetes.resources["course-1"] = {"metadata": {"uid": "1"}}
    kubernetes.secrets["course-1-tls"] = secret("course-1", new_certificate(), KubernetesOptions(), uid="1")
    where = {"kubeconfig": kubernetes.kubeconfig, "context": None, "namespace": None}
    left = json.dumps({"name": "course-1", "where": where})
    assert ending.main("kubernetes", left) == 0 and kubernetes.resources == {}
    assert ending.main("kubernetes", left) == 0  # it is gone
