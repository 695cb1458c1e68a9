"""Shards, a session and workers in threads of this process: the real sockets, and no cluster."""

import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
import torch

from course.cluster.certificates import new_certificate, security
from course.training import ParameterServer, linear_regression, train_in_turns
from course.training.driver.shard_client import ShardClient
from course.training.driver.training_plan import spread
from course.training.records import ShardAddresses, TrainingSettings, described
from course.training.server.shard_server import ShardServer
from course.training.transport.layout import Layout
from course.training.transport.wire import connect
from course.training.worker.worker_loop import run_worker

SGD = partial(torch.optim.SGD, lr=0.02)
PROBLEM = linear_regression()
FOREVER = 10**9


def keys():
    """The TLS contexts, to listen and to call with, of one new certificate."""
    tls = security(new_certificate())
    return tuple(getattr(tls, f"get_{end}_args")("worker")["ssl_context"] for end in ("listen", "connection"))


class Counting:
    """Parameters that count pushes: at learning rate 1 each push of worker w adds 1 to element w, on every shard."""

    def __init__(self, workers, tensors=1, seconds=0.0):
        self.workers, self.tensors, self.seconds = workers, tensors, seconds

    def initial(self):
        return {f"count{number}": torch.zeros(self.workers) for number in range(self.tensors)}

    def batch(self, worker, version, generator):
        if self.seconds:
            time.sleep(self.seconds)
        return worker

    def loss(self, parameters, worker):
        return -sum(value[worker] for value in parameters.values())


ONE = partial(torch.optim.SGD, lr=1.0)


def counting_store(size=3):
    """A store whose parameters count the pushes: gradient −1 at learning rate 1 adds 1."""
    return ParameterServer({"count": torch.zeros(size)}, ONE)


def one(index, size=3):
    """A push that `counting_store` counts."""
    return {"count": -torch.eye(size)[index]}


@contextmanager
def shards(count=1, problem=PROBLEM, optimizer=SGD, start=None, contexts=(None, None), incarnation=0, **settings):
    """Within the `with`, `count` shards are open; yields their `ShardAddresses` and the list of servers."""
    settings = TrainingSettings(**{"mode": "async", "workers": 1, "limit": 50, **settings})
    parameters = problem.initial()
    names = spread(parameters, count, settings.placement)
    servers = [
        ShardServer(
            {name: parameters[name] for name in held},
            optimizer,
            settings,
            token="token",
            shard=shard,
            shards=len(names),
            incarnation=incarnation,
            start=None if start is None else start.part(held),
            contexts=contexts,
        )
        for shard, held in enumerate(names)
    ]
    tasks = tuple(f"/job:ps/task:{shard}" for shard in range(len(names)))
    endpoints = tuple(server.address for server in servers)
    try:
        yield (
            ShardAddresses(endpoints, tasks, "token", incarnation, tuple(map(tuple, names)), described(parameters)),
            servers,
        )
    finally:
        for server in servers:
            server.close()


@contextmanager
def connected(addresses, context=None, term=0):
    """Within the `with`, a session's `ShardClient`, the shards linked."""
    client = ShardClient(addresses, context, term)
    try:
        client.link()
        yield client
    finally:
        client.close()


@contextmanager
def working(addresses, workers=1, problem=PROBLEM, context=None):
    """Within the `with`, so many workers' loops run; yields the list of their reports. Waits for their end."""
    worked = []

    def run(worker):
        worked.append(run_worker(problem, worker, addresses, context=context))

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    try:
        yield worked
    finally:
        for thread in threads:
            thread.join(60)


def joined(addresses, worker=0, session="s"):
    """Join as a worker that says nothing from then on, as a frozen one; return its `Channel`, to be closed."""
    handshake = {"role": "worker", "worker": worker, "session": session, "attempt": 1}
    handshake |= {"token": addresses.token, "incarnation": 0}
    channel = connect(addresses.endpoints[0], handshake, patience=20)
    channel.send("JOIN")
    assert channel.receive().kind == "SLOT"
    channel.agree(Layout.of(PROBLEM.initial()))
    return channel


def check_it_is_the_plain_loop(count, optimizer=SGD, mode="async", workers=1, encrypted=False):
    """Train on `count` shards: the parameters are those of the workers' turns in one process, bit for bit."""
    contexts = keys() if encrypted else (None, None)
    with shards(count, optimizer=optimizer, contexts=contexts, mode=mode, workers=workers) as (addresses, _):
        with connected(addresses, contexts[1]) as client, working(addresses, workers, context=contexts[1]) as worked:
            ended(client)
            snapshot = client.snapshot()
    reference = train_in_turns(PROBLEM, optimizer=optimizer, mode=mode, workers=workers, total_steps=50).parameters
    assert snapshot.version == 50 and list(snapshot.parameters) == list(reference)
    assert all(torch.equal(snapshot.parameters[name], value) for name, value in reference.items())
    assert {(report.sent, report.acknowledged) for report in worked} == {(50, 50)}


def ended(client, seconds=60):
    """Wait for the end of the training; return the last status."""
    return until(client, lambda status: status["ended"], seconds)


def until(client, true, seconds=60):
    """Look until `true(status)`; return that status."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        status, _ = client.poll(0)
        if true(status):
            return status
        time.sleep(0.01)
    pytest.fail(f"waited {seconds} s in vain; {status}")
