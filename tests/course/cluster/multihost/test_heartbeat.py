"""Heartbeats: who is silent is counted out, who beats is not, and a watch that slept blames nobody."""

import asyncio
import re
import time
from types import SimpleNamespace

import pytest
from distributed.core import Status

from course.cluster.multihost import heartbeat
from course.cluster.multihost.heartbeat import Watch
from tests.helpers.shells import eventually


class FakeScheduler:
    """As much of Dask's scheduler as a watch needs: two workers, `a` and `b`."""

    def __init__(self):
        self.workers = {
            f"tls://{name}:1": SimpleNamespace(name=name, server_id=f"id of {name}", address=f"tls://{name}:1")
            for name in "ab"
        }
        self.aliases = {worker.name: address for address, worker in self.workers.items()}
        self.removed = []
        self.watch = Watch(self, lambda line, **_: self.removed.append(line))
        for address in self.workers:
            self.watch.add_worker(self, address)

    async def remove_worker(self, address, stimulus_id, expected):
        assert expected  # the work that was there is not to blame
        self.aliases.pop(self.workers.pop(address).name)
        self.watch.remove_worker(self, address)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(heartbeat, "TASK_SILENCE", 0.6)
    monkeypatch.setattr(heartbeat, "SCHEDULER_LOOKS_EVERY", 0.02)
    monkeypatch.setattr(heartbeat, "HEARTBEAT_EVERY", 0.02)


def watched(scheduler, doing):
    """Run the watch of `scheduler` beside the coroutine `doing`, until that ends."""

    async def both():
        watching = asyncio.create_task(scheduler.watch.run())
        await doing
        assert not watching.done()
        watching.cancel()

    asyncio.run(both())


async def beats(scheduler, name, seconds, enough=lambda: False):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not enough():
        assert scheduler.watch.heartbeat(name, f"id of {name}") == {"known": True}
        await asyncio.sleep(0.02)


def test_a_silent_task_is_counted_out_and_one_that_beats_stays(quick):
    scheduler = FakeScheduler()
    watched(scheduler, beats(scheduler, "a", 60, enough=lambda: scheduler.removed))
    assert list(scheduler.aliases) == ["a"]
    silent = re.match(r"b has been silent for ([\d.]+) s", scheduler.removed[0])
    assert len(scheduler.removed) == 1 and 0.6 <= float(silent.group(1)) < 5
    assert scheduler.watch.heartbeat("b", "id of b") == {"known": False}


def test_a_task_that_leaves_by_itself_while_another_is_taken_away_does_not_end_the_watch(quick):
    class Slow(FakeScheduler):
        async def remove_worker(self, address, stimulus_id, expected):
            await super().remove_worker(address, stimulus_id, expected)
            for other in list(self.workers):
                await super().remove_worker(other, stimulus_id, expected)

    scheduler = Slow()

    async def until_both_are_gone():
        while scheduler.workers:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)  # the watch looks again

    watched(scheduler, until_both_are_gone())
    assert len(scheduler.removed) == 1


def test_another_process_under_the_same_name_is_not_known(quick):
    scheduler = FakeScheduler()
    assert scheduler.watch.heartbeat("a", "id of its predecessor") == {"known": False}
    assert scheduler.watch.heartbeat("never seen", "id") == {"known": False}


def test_a_scheduler_that_was_frozen_itself_counts_nobody_out(quick):
    scheduler = FakeScheduler()

    async def frozen_for_a_while():
        await beats(scheduler, "a", 0.2)
        time.sleep(1.0)  # the whole loop stands still, as under SIGSTOP
        await asyncio.sleep(0.1)
        await asyncio.gather(beats(scheduler, "a", 0.3), beats(scheduler, "b", 0.3))

    watched(scheduler, frozen_for_a_while())
    assert sorted(scheduler.aliases) == ["a", "b"] and scheduler.removed == []


def test_how_long_a_task_has_been_silent(quick):
    scheduler = FakeScheduler()
    time.sleep(0.2)
    scheduler.watch.heartbeat("a", "id of a")
    lately = scheduler.watch.silence("tls://a:1")
    assert lately + 0.15 < scheduler.watch.silence("tls://b:1") and scheduler.watch.silence("tls://unknown:1") < 0.15


def worker_whose_scheduler(answers):
    """A Dask worker's stand-in; `answers(number)` is what the scheduler does with each heartbeat."""
    calls = iter(range(10**6))

    async def asked(name, id):
        assert (name, id) == ("a", "id of a")
        return await answers(next(calls))

    return SimpleNamespace(name="a", id="id of a", scheduler=SimpleNamespace(task_heartbeat=asked))


@pytest.mark.parametrize("trouble", ["silence", "refused"])
def test_a_task_counts_its_scheduler_as_lost_after_a_while_and_not_before(quick, monkeypatch, trouble):
    monkeypatch.setattr(heartbeat, "SCHEDULER_SILENCE", 0.5)

    async def answers(number):
        if number in (1, 2, 4):  # a hiccup
            raise OSError("no connection")
        if number > 40:  # 0.8 s, so longer than it would wait
            if trouble == "refused":
                raise OSError("no connection")
            await asyncio.sleep(1000)
        return {"known": True}

    def not_before():
        began = time.monotonic()
        ended = asyncio.run(heartbeat.send_heartbeats(worker_whose_scheduler(answers)))
        assert ended == "has not heard from its scheduler for 0 s"
        return time.monotonic() - began >= 1.3

    eventually(not_before)  # once, unless this process stood still for half a second itself


def test_a_task_hears_that_it_was_counted_out(quick):
    async def answers(number):
        return {"known": number < 3}

    assert "counted out" in asyncio.run(heartbeat.send_heartbeats(worker_whose_scheduler(answers)))


def beating(status):
    """Beat for a worker whose connections are closed."""

    async def closed(**_):
        raise RuntimeError("ConnectionPool is closed")

    worker = SimpleNamespace(name="a", id="id of a", status=status, scheduler=SimpleNamespace(task_heartbeat=closed))
    return asyncio.run(heartbeat.send_heartbeats(worker))


def test_a_worker_that_closes_already_has_lost_its_scheduler():
    assert beating(Status.closing) == "lost its scheduler"
    with pytest.raises(RuntimeError, match="ConnectionPool is closed"):
        beating(Status.running)
