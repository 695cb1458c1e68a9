"""A shard's connections, one at a time: what is told of each when it is lost, and who ends when nobody comes."""

from contextlib import closing

import pytest
import torch

from course.training.driver.shard_client import ShardClient
from course.training.server import driver_service, shard_links
from course.training.server.shard_links import FollowerLink
from course.training.server.update_log import Entry, PushId
from course.training.transport.layout import Layout
from course.training.transport.wire import connect
from tests.helpers.shards_here import FOREVER, PROBLEM, connected, ended, shards, until
from tests.helpers.shells import eventually


def joined(addresses, worker=0):
    """A worker's connection that has joined: its channel."""
    handshake = {"role": "worker", "worker": worker, "token": addresses.token, "incarnation": 0}
    channel = connect(addresses.endpoints[0], {**handshake, "session": "s", "attempt": 1}, patience=20)
    channel.send("JOIN")
    assert channel.receive().kind == "SLOT"
    channel.agree(Layout.of(PROBLEM.initial()))
    return channel


def pulled(channel):
    """Wait until the worker's parameters have come."""
    while channel.receive().kind != "PARM":
        pass


def lost(status):
    return [(what, worker, reason) for _, what, worker, _, reason in status["events"]]


def test_a_connection_that_breaks_is_told_as_lost_with_its_reason():
    with shards(limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses)) as channel:
            pulled(channel)
        (told,) = lost(until(client, lambda status: status["events"]))
        assert told[:2] == ("worker lost", 0) and told[2].startswith("connection lost: ")


def test_a_push_of_another_length_than_was_agreed_is_told_as_a_lost_connection():
    with shards(limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses)) as channel:
            pulled(channel)
            channel.agree(Layout.of({"w": torch.zeros(100)}))
            channel.send_tensors("PUSH", 0, 0.0, 1)
            (told,) = lost(until(client, lambda status: status["events"]))
        assert told[:2] == ("worker lost", 0) and "were agreed" in told[2]


def test_a_worker_that_another_shard_sent_home_is_told_so():
    with shards(limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses)) as channel:
            pulled(channel)
            channel.send("BYE!")
            told = lost(until(client, lambda status: status["events"]))
        assert told == [("worker lost", 0, "sent home by another shard")]
        assert client.poll(0)[0]["ended"] is None


def test_a_worker_that_says_what_failed_ends_the_training_with_it():
    with shards(limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses)) as channel:
            pulled(channel)
            channel.send("FAIL", payload=b"no such file")
            assert ended(client)["ended"] == {"why": "error", "text": "worker 0: no such file"}


def test_a_shard_to_which_no_driver_comes_closes(monkeypatch):
    monkeypatch.setattr(driver_service, "DRIVER_COMES", 0.3)
    with shards(2) as (_, servers):
        eventually(lambda: all(server.shard.slots.ended for server in servers))
        assert [server.shard.slots.ended["why"] for server in servers] == ["closed", "closed"]


def test_a_driver_that_says_goodbye_ends_the_shards_at_once_and_one_that_is_gone_does_not():
    with shards(2, limit=FOREVER, grace=3600) as (addresses, servers):
        with connected(addresses) as gone:
            gone.leave()
            eventually(lambda: not any(server.driver.has_driver for server in servers))
        with closing(ShardClient(addresses, term=1)) as back:
            assert back.poll(0)[0]["ended"] is None
        eventually(lambda: all(server.shard.slots.ended for server in servers))


class Three:
    def initial(self):
        return {name: torch.zeros(1) for name in "abc"}


@pytest.mark.parametrize(("gone", "left"), [(0, 1), (1, 0), (2, 0)])
def test_a_shard_that_is_gone_is_named_on_one_that_is_left(gone, left):
    with shards(3 if gone else 2, Three(), limit=FOREVER) as (addresses, servers), connected(addresses):
        servers[gone].close()
        eventually(lambda: servers[left].shard.slots.ended)
        told = servers[left].shard.slots.ended
        assert (told["why"], told["shard"]) == ("shard", gone) and "have lost each other" in told["text"]


def test_a_shard_that_cannot_follow_says_so_to_shard_0():
    with shards(2, limit=FOREVER) as (addresses, servers), connected(addresses):
        servers[0].shard.links[0].send_entry(Entry(7))
        eventually(lambda: servers[0].shard.slots.ended)
        told = servers[0].shard.slots.ended
    assert told["why"] == "shard" and told["shard"] == 1
    assert told["text"] == "it can't follow the order: shard 0 is at version 7, this shard at 0"


# --- shard 0's two connections to another ----------------------------------------------------------------------------


class Wire:
    """Stands for a channel: `receive` gives these reports, then raises; `send` raises what it is told to."""

    def __init__(self, *reports, sends=None):
        self.reports, self.sends, self.sent, self.told = list(reports), sends, [], []

    def receive(self):
        report = self.reports.pop(0)
        if isinstance(report, Exception):
            raise report
        return type("Frame", (), {"text": staticmethod(lambda: report)})

    def send(self, kind, payload):
        if self.sends:
            raise self.sends
        self.sent.append((kind, payload))

    def hang_up(self):
        self.told.append("hung up")

    def close(self):
        self.told.append("closed")


def linked(monkeypatch, log, reports):
    made, asked = [log, reports], []

    def connect(address, handshake, context):
        asked.append(handshake)
        if isinstance(made[0], Exception):
            raise made[0]
        return made.pop(0)

    monkeypatch.setattr(shard_links, "connect", connect)
    return lambda: FollowerLink(("host", 1), {"token": "t"}, None), asked


def test_a_link_sends_the_log_on_one_connection_and_hears_reports_on_the_other(monkeypatch):
    push, left = [1, "s", 4], {"left": [2, "t", 5]}
    log, reports = Wire(), Wire(push, left, {"why": "error", "text": "odd"}, OSError("gone"))
    make, asked = linked(monkeypatch, log, reports)
    link, heard = make(), []
    assert asked == [{"token": "t", "role": "log"}, {"token": "t", "role": "reports"}]
    link.send_entry(Entry(3)), link.send_heartbeat()
    assert log.sent == [("ENTR", Entry(3).as_json()), ("BEAT", {})]
    link.listen(heard.append, lambda one: heard.append(("left", one)), lambda **end: heard.append(end))
    assert heard[:3] == [PushId(1, "s", 4), ("left", PushId(2, "t", 5)), {"why": "error", "text": "odd"}]
    assert heard[3:] == [{"why": "shard", "text": "shard 0 and it have lost each other: gone"}]
    assert log.told == reports.told == ["hung up", "closed"]


@pytest.mark.parametrize("report", [OSError("gone"), ValueError("no JSON"), 5, [1]])
def test_whatever_ends_the_reports_is_told_as_the_loss_of_the_shard(report, monkeypatch):
    make, _ = linked(monkeypatch, Wire(), Wire(report))
    heard = []
    make().listen(heard.append, heard.append, lambda **end: heard.append(end["why"]))
    assert heard == ["shard"]


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("closed here")])
def test_sending_never_raises_and_hangs_up(error, monkeypatch):
    log, reports = Wire(sends=error), Wire()
    linked(monkeypatch, log, reports)[0]().send_heartbeat()
    assert log.told == reports.told == ["hung up"]


def test_a_link_whose_second_connection_fails_closes_the_first(monkeypatch):
    log = Wire()
    with pytest.raises(OSError, match="refused"):
        linked(monkeypatch, log, OSError("refused"))[0]()
    assert log.told == ["closed"]
