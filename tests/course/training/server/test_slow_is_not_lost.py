"""Who is slow is not lost: a driver whose hook takes long, a shard with a large model, a machine that slept."""

import threading
from contextlib import closing
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from course.training.checkpoint.snapshot import Snapshot
from course.training.transport import wire
from course.training.transport.wire import WIRE_SILENCE, Channel, Pieces
from tests.course.training.transport.test_pipes import socket_pair
from tests.helpers.shards_here import FOREVER, connected, ended, shards, until, working

LONG = WIRE_SILENCE + 1.0
ONE_AND_TWO = [pytest.param(1, marks=pytest.mark.long), 2]  # shards


def take(seconds):
    """Take so long, as a computation does: other threads go on."""
    threading.Event().wait(seconds)


@pytest.mark.long
@pytest.mark.parametrize("count", ONE_AND_TWO)
def test_a_driver_that_asks_nothing_for_long_is_not_lost(count, monkeypatch):
    monkeypatch.setattr("course.training.server.driver_service.DRIVER_SILENCE", 1.5)
    with shards(count, limit=FOREVER) as (addresses, _), connected(addresses) as client, working(addresses):
        before = until(client, lambda status: status["version"] > 5)["version"]
        take(3.0)  # a hook
        until(client, lambda status: status["version"] > before)
        assert client.snapshot().version > before
        client.stop()


class SlowStep(torch.optim.SGD):
    """Its third step takes longer than anybody may be silent."""

    steps = 0

    def step(self, closure=None):
        self.steps += 1
        take(LONG if self.steps == 3 else 0)
        super().step()


@pytest.mark.parametrize("count", ONE_AND_TWO)
def test_a_shard_in_a_long_update_is_not_lost_and_loses_no_worker(count):
    optimizer = partial(SlowStep, lr=0.01)
    with shards(count, optimizer=optimizer, workers=2, limit=20) as (addresses, _), connected(addresses) as client:
        with working(addresses, 2):
            status = ended(client)
    assert status["ended"]["why"] == "steps" and status["events"] == [] and status["version"] == 20


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_a_shard_that_packs_a_large_snapshot_is_not_lost(count, monkeypatch):
    pack = Snapshot.as_pieces
    monkeypatch.setattr(Snapshot, "as_pieces", lambda self: [take(LONG), pack(self)][1])
    with shards(count, limit=FOREVER) as (addresses, _), connected(addresses) as client, working(addresses):
        assert client.snapshot().parameters
        client.stop()


def test_a_snapshot_in_pieces_is_the_snapshot():
    tensor = torch.arange(1_000_003, dtype=torch.float64)
    pieces = Snapshot(3, {"w": tensor}).as_pieces()
    assert len(pieces) > 7 and torch.equal(Snapshot.from_bytes(b"".join(pieces)).parameters["w"], tensor)


@pytest.fixture
def ends():
    ours, theirs = socket_pair()
    with closing(ours), closing(theirs):
        yield ours, theirs


@pytest.mark.long
def test_a_frame_may_be_longer_than_4_gigabytes(ends):
    sender, receiver = Channel(ends[0], 5), Channel(ends[1], 5)
    piece = bytes(1 << 26)
    total = 80 << 26  # bytes: 5 GiB
    sending = threading.Thread(target=send_until_closed, args=(sender, Pieces([piece] * 80)))
    sending.start()
    with pytest.raises(ConnectionError, match=f"frame of {total} bytes"):
        receiver.receive(limit=total - 1)
    receiver.close()
    sending.join(60)


def send_until_closed(channel, pieces):
    with pytest.raises(OSError):
        channel.send("CUTS", (1 << 40) + 7, payload=pieces)


def test_numbers_and_long_payloads_arrive_as_they_were_sent(ends):
    sender, receiver = Channel(ends[0], 5), Channel(ends[1], 5)
    pieces = Pieces([b"a" * 3_000_001, b"b" * 5])
    sending = threading.Thread(target=sender.send, args=("CUTS", (1 << 40) + 7, 0.1, 1 << 63, pieces))
    sending.start()
    frame = receiver.receive()
    sending.join(60)
    assert frame == ("CUTS", (1 << 40) + 7, 0.1, 1 << 63, b"".join(pieces))


def test_a_process_that_stood_still_blames_nobody(ends, monkeypatch):
    clock = iter([0.0, 100.0, 100.0, 100.5])  # the first wait of half a second ended after a hundred
    channel = Channel(ends[0], 0.5)
    monkeypatch.setattr(wire, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with pytest.raises(TimeoutError):
        channel.receive()
    assert list(clock) == []
