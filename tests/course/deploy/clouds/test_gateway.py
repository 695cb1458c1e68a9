"""A cluster of a real Dask Gateway: the executor's work, what it can't do, its ends; and who gets none hears why."""

import asyncio
import operator
import os
import signal
import socket
import subprocess
import sys
from functools import partial

import dask
import pytest
import torch
from click.testing import CliRunner

from course import estimate_pi, linear_regression, mean, train
from course.__main__ import main
from course.deadlines import NOTHING_LEFT
from course.deploy import deploy
from course.deploy.clouds import cloud_runtime
from course.deploy.clouds import gateway as deployer
from course.deploy.launcher import DeployError
from course.deploy.ledger import entries
from tests.course.deploy.clouds.gateway_here import PASSWORD, gateway_here
from tests.helpers.shells import eventually

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("clouds_libraries")]


@pytest.fixture(scope="module")
def gateway(clouds_libraries):
    with gateway_here() as here, dask.config.set({"gateway.auth.kwargs.password": PASSWORD}):
        yield here
        eventually(lambda: here.clusters == [] and here.processes() == [])


@pytest.fixture(scope="module")
def cluster(gateway):
    with deploy("gateway", worker=2, address=gateway.address, auth="basic") as made:
        yield made
    assert entries() == []


def test_the_same_numbers_come_from_a_gateways_cluster(cluster):
    assert estimate_pi(1_000_000, executor=cluster.executor) == estimate_pi(1_000_000)
    assert mean([1.0, 2.0, 6.0], parts=2, executor=cluster.executor) == 3.0
    assert sorted(cluster.executor.map(operator.neg, range(3))) == [-2, -1, 0]
    assert os.getpid() not in [cluster.executor.submit(os.getpid).result(60)]


def test_a_gateways_cluster_says_what_it_is(cluster, gateway):
    assert repr(cluster) == "Cluster(worker=2)" and cluster.missing() == []
    assert cluster.session_target.startswith(f"gateway://127.0.0.1:{gateway.port}/")
    assert len(gateway.clusters) == 1


LACKS = {
    "kill": lambda cluster: cluster.kill("/job:worker/task:0"),
    "freeze": lambda cluster: cluster.freeze("/job:worker/task:0"),
    "thaw": lambda cluster: cluster.thaw("/job:worker/task:0"),
    "restart": lambda cluster: cluster.restart(),
}


@pytest.mark.parametrize("name", LACKS)
def test_what_a_gateways_cluster_lacks_is_told_in_a_sentence(cluster, name):
    words = r"deploy\('gateway'\) gets a signal from here, .* deploy\('ssh'\) have that"
    with pytest.raises(RuntimeError, match=words):
        LACKS[name](cluster)


def test_a_gateways_cluster_trains_where_this_process_is_in_its_network_and_is_refused_where_not(gateway, monkeypatch):
    where = {"address": gateway.address, "auth": "basic"}
    with deploy("gateway", ps=1, worker=1, **where) as cluster:
        result = train(linear_regression(), cluster, optimizer=partial(torch.optim.SGD, lr=0.05), total_steps=30)
        assert result.version == 30 and not cluster.missing()
        with pytest.raises(RuntimeError, match="is no host:port; connect through the gateway"):
            cluster.spec  # noqa: B018
        with pytest.raises(RuntimeError, match="whoever runs it can show it"):
            cluster.log("/job:worker/task:0")
    monkeypatch.setattr(
        deployer.GatewayDeployer, "route", staticmethod(lambda _: ("127.0.0.1", 9))
    )  # a network between
    monkeypatch.setattr(cloud_runtime, "PS_REACHED", 0.5)
    words = refused(gateway, ps=1)
    assert "/job:ps/task:0 listens at tls://" in words and "run this inside of that network" in words


def refused(gateway, **options):
    before = entries()
    with pytest.raises(DeployError) as caught:
        deploy("gateway", **{"worker": 1, "address": gateway.address, "auth": "basic", **options})
    assert entries() == before
    return str(caught.value)


def test_who_gets_no_cluster_of_a_gateway_hears_the_next_step(gateway, free_ports):
    with dask.config.set({"gateway.auth.kwargs.password": "another"}):
        assert "does not let you in (401); name yourself by auth=, one of 'basic'" in refused(gateway)
    assert "Say where it is, and who you are, as in address='https://" in refused(gateway, address=None)
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    assert f"there is no gateway at {nowhere}" in refused(gateway, address=nowhere)
    assert "as a Dask Gateway does; is the path right?" in refused(gateway, address=f"{gateway.address}/elsewhere")
    words = refused(gateway, options={"worker_cores": 5})
    assert "options={'worker_cores': 5}" in words and "This gateway's are worker_cores" in words
    assert "This gateway's are worker_cores" in refused(gateway, options={"cores": 1})
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployer, "CLOUD_ANSWERS", 0.5)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert f"the gateway at {address} has not answered for 0 s" in refused(gateway, address=address)


def test_a_start_that_fails_leaves_nothing_on_the_gateway(gateway):
    before = gateway.clusters
    assert "starts fewer workers: " in refused(gateway, worker=4)
    eventually(lambda: gateway.clusters == before)
    with pytest.raises(TimeoutError, match=r"deploy\(timeout=0.2\): its scheduler is not there yet"):
        deploy("gateway", worker=1, address=gateway.address, auth="basic", timeout=0.2)
    eventually(lambda: gateway.clusters == before)


def test_a_start_that_is_over_before_the_gateway_has_named_the_cluster_leaves_nothing(gateway, monkeypatch):
    from dask_gateway import Gateway

    before, submit = gateway.clusters, Gateway.submit

    async def late(self, *given):
        name = await submit(self, *given)
        await asyncio.sleep(1)
        return name

    monkeypatch.setattr(Gateway, "submit", late)
    with pytest.raises(TimeoutError, match=r"deploy\(timeout=0.2\)"):
        deploy("gateway", worker=1, address=gateway.address, auth="basic", timeout=0.2)
    eventually(lambda: gateway.clusters == before)


def test_an_interrupt_while_a_gateways_cluster_starts_leaves_nothing(gateway, monkeypatch):
    before = gateway.clusters, entries()
    looked = deployer.GatewayDeployer.waiting

    async def interrupted(self):
        os.kill(os.getpid(), signal.SIGINT)
        return await looked(self)

    monkeypatch.setattr(deployer.GatewayDeployer, "waiting", interrupted)
    with pytest.raises(KeyboardInterrupt):
        deploy("gateway", worker=1, address=gateway.address, auth="basic")
    eventually(lambda: (gateway.clusters, entries()) == before)


CLIENT = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from dask_gateway import BasicAuth
from distributed import fire_and_forget
from course.deploy import deploy
from course.deploy.clouds import gateway as deployer
address, password = sys.argv[1:]
with ThreadPoolExecutor(2) as pool:
    start = lambda auth: deploy("gateway", worker=1, address=address, auth=auth)
    busy, idle = pool.map(start, ["basic", BasicAuth(password=password)])
held = [one.client.submit(time.sleep, 600, pure=False) for one in (busy, idle)]
fire_and_forget(held[0])
for one in (busy, idle):
    while not any(one.client.processing().values()):
        time.sleep(0.05)
def shorten(dask_scheduler):  # the time without work, which the gateway gives to both: only now it may be short
    own = dask_scheduler.services["gateway"]
    own.check_idle_task.cancel()
    own.idle_timeout = 1
    own.check_idle_task = dask_scheduler.loop.asyncio_loop.create_task(own.check_idle())
idle.client.run_on_scheduler(shorten)
print(*(one.session_target.rpartition("/")[2] for one in (busy, idle)), flush=True)
time.sleep(600)
"""


def test_a_killed_clients_clusters_are_ended_by_the_caretaker_or_by_the_gateways_idle_time(gateway):
    command = [sys.executable, "-c", CLIENT, gateway.address, PASSWORD]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | gateway.environment, start_new_session=True
    )
    try:
        busy, idle = process.stdout.readline().split()
        listed = CliRunner().invoke(main, ["deploy", "list"]).output
        assert listed.count(f"gateway  worker=1  for 0 min; its client runs (process {process.pid}") == 2
        assert {busy, idle} <= set(gateway.clusters)
    finally:
        process.kill()
        process.communicate(timeout=60)
    eventually(lambda: busy not in gateway.clusters, 3 * NOTHING_LEFT)  # it has work: only the caretaker ends it
    eventually(lambda: idle not in gateway.clusters, 3 * NOTHING_LEFT)  # nobody has its password: only time does


def test_a_gateways_cluster_is_stopped_from_another_shell(cluster, gateway):
    before = set(gateway.clusters)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in gateway.environment.items():
            patch.setenv(name, value)
        said = CliRunner().invoke(main, ["deploy", "stop"]).output
    assert said.endswith(": ended\n") and said.count("\n") == 1
    eventually(lambda: cluster._work.closed)
    with pytest.raises(RuntimeError, match="ended by `python -m course deploy stop`"):
        cluster.executor.submit(os.getpid)
    eventually(lambda: not before & set(gateway.clusters))
