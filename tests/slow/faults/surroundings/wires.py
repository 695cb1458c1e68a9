"""Faults of the network between workers and shards, in user space: a proxy in front of every shard."""

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest import mock

from course.training.driver import shard_client
from tests.helpers.proxy import Proxy


@contextmanager
def proxied():
    """Within the `with`, workers reach every shard through a proxy; yields the list of proxies, oldest first.

    The session tells workers, and shard 0, where the shards are (`ShardClient.addresses`): other addresses are put in
    there, so the link between shards goes through a proxy too, and losing it costs an incarnation. What the session
    itself says goes directly. A new incarnation gets new proxies.
    """
    proxies, real = [], shard_client.ShardClient
    with ExitStack() as stack:

        class Behind(real):
            def __init__(self, addresses, *arguments, **settings):
                super().__init__(addresses, *arguments, **settings)
                behind = [stack.enter_context(Proxy(address)) for address in addresses.endpoints]
                proxies.extend(behind)
                self.addresses = replace(self.addresses, endpoints=tuple(proxy.address for proxy in behind))

        stack.enter_context(mock.patch.object(shard_client, "ShardClient", Behind))
        yield proxies


def cut(stage, session):
    """Cut one shard's connections after some more bytes: most often in mid-message."""
    _one(stage).cut_after(stage.plan.amount)


def cut_often(stage, session):
    """Cut again and again, at every shard, for as long as the plan says."""
    count = 2 + int(stage.plan.seconds * 4)
    for number in range(count):
        proxy = stage.proxies[-1 - number % len(stage.proxies)]
        stage.later(number * 0.25, proxy.cut_after, stage.plan.amount)


def reset(stage, session):
    """Reset all connections to one shard."""
    _one(stage).reset()


def one_stalled(stage, session):
    """Stall one worker's connection to one shard; it flows again later."""
    proxy = _one(stage)
    proxy.stall(stage.plan.amount)
    stage.later(stage.plan.seconds, proxy.flow)


def partitioned(stage, session):
    """Stall every connection of every worker to every shard, new ones too; they flow again later."""
    for proxy in list(stage.proxies):
        proxy.stall()
        stage.later(stage.plan.seconds, proxy.flow)


def delayed(stage, session):
    """Hold every piece back for some milliseconds, for as long as the plan says."""
    proxy = _one(stage)
    proxy.delay(0.002 + stage.plan.amount / 100_000)
    stage.later(stage.plan.seconds, proxy.flow)


def _one(stage):
    return stage.proxies[stage.plan.victim % len(stage.proxies)]


WIRE_STRIKES = {
    "connection cut in mid-message": cut,
    "connections cut again and again": cut_often,
    "connections reset": reset,
    "one connection stalled": one_stalled,
    "workers partitioned from ps": partitioned,
    "connections slow": delayed,
}
