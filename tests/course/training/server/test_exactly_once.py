"""Every push once and nobody waits for the dead: cut connections, silence, snapshots, sessions that take over."""

import random
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest
import torch

from course.training.driver.shard_client import ShardClient
from course.training.records import ShardLost
from course.training.transport import shared_memory
from course.training.transport.wire import Refused
from course.training.worker.worker_loop import run_worker
from tests.helpers.proxy import Proxy
from tests.helpers.shards_here import FOREVER, ONE, PROBLEM, Counting, connected, ended, joined, shards, until, working


@contextmanager
def proxied(addresses):
    """Within the `with`, a proxy before every shard; yields the `ShardAddresses` for workers, and the proxies."""
    with ExitStack() as held:
        proxies = [held.enter_context(Proxy(address)) for address in addresses.endpoints]
        yield replace(addresses, endpoints=tuple(proxy.address for proxy in proxies)), proxies


def check_counts(status, worked):
    """Acknowledged ≤ applied + dropped ≤ sent, worker by worker, as the worker counts and as shard 0 heard of it."""
    for report in worked:
        sent, acknowledged, applied, dropped = (
            status[name][str(report.worker)] for name in ("sent", "acknowledged", "applied", "dropped")
        )
        assert acknowledged <= report.acknowledged <= applied + dropped <= sent <= report.sent, (report, status)


@pytest.mark.parametrize(
    ("count", "seed", "shared"),
    [
        (1, 0, False),
        pytest.param(1, 1, True, marks=pytest.mark.long),
        (2, 2, True),
        pytest.param(3, 3, False, marks=pytest.mark.long),
    ],
)
def test_no_push_is_lost_or_doubled_where_connections_are_cut_in_mid_message(count, seed, shared, monkeypatch):
    monkeypatch.setattr(shared_memory, "LEAST", 0 if shared else 1 << 60)
    dice, problem = random.Random(seed), Counting(2, tensors=3, seconds=0.0005)
    with shards(count, problem, ONE, workers=2, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with proxied(addresses) as (routed, proxies), working(routed, 2, problem) as worked:
            for _ in range(12):
                proxy = dice.choice(proxies)
                if shared:  # headers go by pipes: what is open is reset, and what comes next cut in its handshake
                    proxy.reset()
                proxy.cut_after(dice.randrange(1, 3000))
                time.sleep(dice.random() * 0.1)
            before = client.poll(0)[0]["version"]
            until(client, lambda status: status["version"] > before + 100 or status["ended"])
            client.stop()
            until(client, lambda status: status["ended"]["why"] == "stopped" if status["ended"] else False)
        status, rows = client.poll(0)
        check_counts(status, worked)
        for value in client.parameters().values():
            assert value.tolist() == [status["applied"]["0"], status["applied"]["1"]]
        assert rows["step"].tolist() == list(range(1, status["version"] + 1))
        assert sum(event[1] == "worker joined" for event in status["events"]) > 0, "something was cut"


def test_a_dropped_push_counts_as_taken_once():
    problem = Counting(3, seconds=0.001)
    settings = {"mode": "sync", "workers": 3, "aggregate": 2, "limit": 100}
    with shards(2, problem, torch.optim.SGD, **settings) as (addresses, _), connected(addresses) as client:
        with working(addresses, 3, problem) as worked:
            ended(client)
        status, _ = client.poll(0)
    assert sum(status["applied"].values()) == 200 and sum(status["dropped"].values()) > 0
    check_counts(status, worked)


class Pausing:
    """Worker `worker` computes for `seconds` on this version, or until `wake` is set: it sends heartbeats meanwhile."""

    initial, loss = PROBLEM.initial, PROBLEM.loss

    def __init__(self, worker, seconds, version=5):
        self.worker, self.seconds, self.version, self.wake = worker, seconds, version, threading.Event()

    def batch(self, worker, version, generator):
        if worker == self.worker and version == self.version:
            self.wake.wait(self.seconds)
        return PROBLEM.batch(worker, version, generator)


@pytest.mark.long
def test_a_worker_that_computes_for_longer_than_the_silence_is_not_counted_out():
    with ExitStack() as held:
        clients = []
        for count in (1, 2):  # side by side: both wait for the same seconds
            addresses, _ = held.enter_context(shards(count, mode="sync", workers=2, limit=10))
            clients.append(held.enter_context(connected(addresses)))
            held.enter_context(working(addresses, 2, Pausing(1, 4.0)))
        for client in clients:
            status = ended(client)
            assert status["version"] == 10 and status["events"] == [] and status["degraded"] == 0


def test_a_worker_that_was_frozen_is_counted_out_and_goes_on_with_its_session_when_it_wakes(monkeypatch):
    # it sends no heartbeats: as if all its threads stood still
    monkeypatch.setattr("course.training.worker.shard_connections.start_beating", lambda *_: None)
    with shards(workers=2, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        problem = Pausing(1, 30.0, version=0)
        with working(addresses, 2, problem) as worked:
            until(client, lambda status: "1" in status["lost"])
            problem.wake.set()
            until(client, lambda status: status["lost"] == {} and status["applied"]["1"] > 10)
            client.stop()
        status, _ = client.poll(0)
    assert [event[1] for event in status["events"]] == ["worker counted out", "worker joined"]
    assert {report.ended for report in worked} == {"stopped"}
    check_counts(status, worked)


@pytest.mark.parametrize("mode", [pytest.param("async", marks=pytest.mark.long), "sync"])
def test_a_silent_worker_is_counted_out_after_three_seconds_and_the_others_go_on(mode):
    with shards(mode=mode, workers=2, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses, 1)), working(addresses) as worked:
            began = time.monotonic()
            status = until(client, lambda status: status["lost"])
            assert time.monotonic() - began < 15, "noticed after three seconds, and a busy machine's patience"
            _, event, worker, step, _ = status["events"][0]
            assert (event, worker) == ("worker counted out", 1) and "nothing heard" in status["lost"]["1"]
            assert step == 0 if mode == "sync" else step > 0
            status = until(client, lambda status: status["version"] > step + 20)
            assert status["degraded"] >= 20 if mode == "sync" else status["degraded"] == 0
            client.stop()
    assert worked[0].ended == "stopped"


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_worker_that_dies_is_not_waited_for_and_one_that_comes_back_counts_again(mode):
    with shards(mode=mode, workers=2, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        dying = joined(addresses, 1, "first life")
        with working(addresses):
            until(client, lambda status: len(status["live"]) == 2)
            dying.close()
            status = until(client, lambda status: status["version"] > 20 and status["lost"])
            assert "connection lost" in status["lost"]["1"]
            again = threading.Thread(target=run_worker, args=(PROBLEM, 1, addresses))
            again.start()
            until(client, lambda status: status["applied"].get("1", 0) > 20)
            status, _ = client.poll(0)
            assert status["lost"] == {} and [event[1] for event in status["events"]] == ["worker lost", "worker joined"]
            with pytest.raises(Refused, match="replaced by another process"):
                joined(addresses, 1, "first life")
            client.stop()
        again.join(60)


# --- snapshots -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_snapshot_at_version_v_holds_exactly_the_first_v_updates_while_training_goes_on(count):
    problem, cuts = Counting(2, tensors=3, seconds=0.0005), []
    with shards(count, problem, ONE, workers=2, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with working(addresses, 2, problem):
            until(client, lambda status: status["version"] > 0)
            for _ in range(8):
                cuts.append(client.snapshot())
                until(client, lambda status: status["version"] > cuts[-1].version)
            client.stop()
            ended(client)
        _, rows = client.poll(0)
    assert sorted({cut.version for cut in cuts}) == [cut.version for cut in cuts]
    for cut in cuts:
        first = rows[rows["step"] <= cut.version]
        counts = [(first["worker"] == worker).sum() for worker in range(2)]
        assert all(value.tolist() == counts for value in cut.parameters.values())
        assert sorted(entry.applied for entry in cut.applied.values()) == sorted(counts)


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_training_from_a_snapshot_is_training_without_a_break_on_any_number_of_shards(before, after):
    def trained(count, **settings):
        with shards(count, optimizer=torch.optim.Adam, **settings) as (addresses, _), connected(addresses) as client:
            with working(addresses):
                ended(client)
            return client.snapshot()

    whole = trained(after, start=trained(before, limit=20), incarnation=1, limit=40)
    wanted = trained(1, limit=40)
    assert whole.version == wanted.version == 40 and whole.incarnation == 1
    assert all(torch.equal(whole.parameters[name], wanted.parameters[name]) for name in wanted.parameters)
    assert sum(entry.applied for entry in whole.applied.values()) == 40, "the table goes on"


# --- sessions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2])
def test_a_driver_of_a_later_term_takes_over_and_the_older_one_is_refused(count):
    with shards(count, limit=FOREVER, grace=10) as (addresses, _), connected(addresses) as old, working(addresses):
        until(old, lambda status: status["version"] > 5)
        new = ShardClient(addresses, term=1)
        with pytest.raises(ShardLost):
            until(old, lambda status: old.snapshot() is None)  # there always is one
        with pytest.raises(ShardLost, match="a driver of term 1 leads this training now; term 0 is over"):
            ShardClient(addresses, term=0)
        version = new.poll(0)[0]["version"]
        until(new, lambda status: status["version"] > version)
        assert new.snapshot().version > 5
        new.stop()  # or the workers would go on for the shards' grace
        new.close()


@pytest.mark.long
def test_shards_wait_for_another_driver_for_their_grace_and_no_longer():
    with shards(limit=FOREVER, grace=1.0) as (addresses, _):
        with connected(addresses) as first, working(addresses) as worked:
            until(first, lambda status: status["version"] > 5)
            first.leave()
            second = ShardClient(addresses, term=1)
            until(second, lambda status: status["version"] > 5)
            began = time.monotonic()
            second.leave()
        assert 0.9 < time.monotonic() - began < 30
        assert "parameter server" in worked[0].ended
        with pytest.raises(ShardLost):
            ShardClient(addresses, term=2)
