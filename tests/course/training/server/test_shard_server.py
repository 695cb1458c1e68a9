"""A shard's connections, one at a time: what is told of each when it is lost, and who ends when nobody comes."""

from contextlib import closing
from unittest.mock import Mock, call, create_autospec

import pytest
import torch

from course.training.driver.shard_client import ShardClient
from course.training.records import ShardLost
from course.training.server import driver_service, shard_links
from course.training.server.coordinator import Coordinator
from course.training.server.reply_slots import ReplySlots
from course.training.server.shard_links import FollowerLink
from course.training.server.update_log import Entry, PushId
from course.training.transport.layout import Layout
from course.training.transport.wire import Channel
from tests.helpers.shards_here import FOREVER, connected, ended, joined, shards, until
from tests.helpers.shells import eventually


def stretch(channel):
    """Push more than was agreed."""
    channel.agree(Layout.of({"w": torch.zeros(100)}))
    channel.send_tensors("PUSH", 0, 0.0, 1)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Channel.close, "connection lost: "),
        (stretch, "were agreed"),
        (lambda channel: channel.send("BYE!"), "sent home by another shard"),
    ],
)
@pytest.mark.parametrize("mode", ["async", "sync"])  # read by a thread of its own, or by the reader of short frames
def test_a_worker_whose_connection_ends_is_told_as_lost_with_the_reason_and_training_goes_on(mode, end, reason):
    with shards(mode=mode, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses)) as channel:
            while channel.receive().kind != "PARM":
                pass
            end(channel)
            status = until(client, lambda status: status["events"])
    ((_, event, worker, _, words),) = status["events"]
    assert (event, worker) == ("worker lost", 0) and reason in words and status["ended"] is None


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_worker_that_says_what_failed_ends_the_training_with_it(mode):
    with shards(mode=mode, limit=FOREVER) as (addresses, _), connected(addresses) as client:
        with closing(joined(addresses)) as channel:
            channel.send("BEAT")
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


@pytest.mark.parametrize(("gone", "other"), [(0, 1), (1, 0), (2, 0)])
def test_a_shard_that_is_gone_is_named_on_another_one_and_to_the_driver(gone, other):
    with shards(3 if gone else 2, Three(), limit=FOREVER) as (addresses, servers), connected(addresses) as client:
        servers[gone].close()
        eventually(lambda: servers[other].shard.slots.ended)
        end = servers[other].shard.slots.ended
        assert (end["why"], end["shard"]) == ("shard", gone) and "have lost each other" in end["text"]
        with pytest.raises(ShardLost, match=f"/job:ps/task:{gone}"):
            until(client, lambda status: False)


def test_a_shard_that_cannot_follow_says_so_to_shard_0():
    with shards(2, limit=FOREVER) as (addresses, servers), connected(addresses):
        servers[0].shard.links[0].send_entry(Entry(7))
        eventually(lambda: servers[0].shard.slots.ended)
        text = "it can't follow the order: shard 0 is at version 7, this shard at 0"
        assert servers[0].shard.slots.ended == {"why": "shard", "text": text, "shard": 1}


# --- shard 0's two connections to another ----------------------------------------------------------------------------


@pytest.fixture
def link(monkeypatch):
    """A link to shard 3 whose two connections are mocks; `log` and `reports` are these."""
    log, reports = create_autospec(Channel, instance=True), create_autospec(Channel, instance=True)
    monkeypatch.setattr(shard_links, "connect", Mock(side_effect=[log, reports]))
    link = FollowerLink(3, ("host", 1), {"token": "t"})
    link.log, link.reports = log, reports
    return link


def heard(link, *reports):
    """Let shard 0 listen to these reports, of which the last one ends the connection; return shard 0, a mock."""
    frames = [
        report if isinstance(report, Exception) else Mock(text=lambda report=report: report) for report in reports
    ]
    link.reports.receive.side_effect = frames
    shard = create_autospec(Coordinator, instance=True, slots=create_autospec(ReplySlots, instance=True))
    link.listen(shard)
    return shard


def test_a_link_sends_the_log_on_one_connection_and_hears_reports_on_the_other(link):
    roles = [call.args[1] for call in shard_links.connect.mock_calls]
    assert roles == [{"token": "t", "role": "log"}, {"token": "t", "role": "reports"}]
    link.send_entry(Entry(3)), link.beat()
    assert link.log.mock_calls == [call.send("ENTR", payload=Entry(3).as_json()), call.beat()]
    end = {"why": "error", "text": "odd"}
    shard = heard(link, [1, "s", 4], {"left": [2, "t", 5]}, end, {"why": "shard", "text": "lags"}, OSError("gone"))
    shard.staged.assert_called_once_with(3, PushId(1, "s", 4))
    shard.slots.disconnect.assert_called_once_with(PushId(2, "t", 5))
    lost = call("shard", "shard 0 and it have lost each other: gone", shard=3)
    assert shard.end.mock_calls == [call(**end), call(why="shard", text="lags", shard=3), lost]
    link.close()
    assert link.log.mock_calls[2:] == link.reports.mock_calls[-2:] == [call.hang_up(), call.close()]


@pytest.mark.parametrize("report", [OSError("gone"), ValueError("no JSON"), 5, [1]])
def test_whatever_ends_the_reports_is_told_as_the_loss_of_the_shard(report, link):
    assert heard(link, report).end.mock_calls[0].args[0] == "shard"


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("closed here")])
def test_sending_an_entry_never_raises_and_hangs_up(error, link):
    link.log.send.side_effect = error
    link.send_entry(Entry(3))
    link.log.hang_up.assert_called_once_with()
    link.reports.hang_up.assert_called_once_with()


def test_a_link_whose_second_connection_fails_closes_the_first(monkeypatch):
    log = create_autospec(Channel, instance=True)
    monkeypatch.setattr(shard_links, "connect", Mock(side_effect=[log, OSError("refused")]))
    with pytest.raises(OSError, match="refused"):
        FollowerLink(3, ("host", 1), {"token": "t"})
    log.close.assert_called_once_with()
