"""Shard 0 and a follower without sockets: who may join, when training begins and ends, and what is told of it."""

import threading
import time
import weakref
from functools import partial

import pytest
import torch

from course.training import ParameterServer
from course.training.records import TrainingSettings
from course.training.server import coordinator as rooms
from course.training.server import ordered_copies
from course.training.server.attendance import ALL_WORKERS_JOIN, EACH_WORKER_JOINS, NO_WORKER_LEFT, WORKERS_REJOIN
from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.server.reply_slots import ReplySlot
from course.training.server.update_log import Entry, PushId

ONE = partial(torch.optim.SGD, lr=1.0)


@pytest.fixture
def clock(monkeypatch):
    """The clock of shard 0, in seconds; it stands until it is set."""
    clock = [100.0]
    monkeypatch.setattr(rooms.time, "perf_counter", lambda: clock[0])
    return clock


def store(optimizer=ONE):
    return ParameterServer({"w": torch.zeros(1)}, optimizer)


def coordinator(workers=1, limit=10, mode="async", incarnation=0, others=0, optimizer=ONE, **settings):
    return Coordinator(store(optimizer), TrainingSettings(mode, workers, limit, **settings), incarnation, None, others)


def follower_of(workers=1, optimizer=ONE, incarnation=0):
    """A follower, and the list that gets what it reports."""
    shard, reports = Follower(store(optimizer), TrainingSettings("async", workers, 10), incarnation), []
    shard.report = reports.append
    return shard, reports


def join(shard, worker, session=None, attempt=1):
    return shard.join(ReplySlot(worker, session or f"s{worker}", attempt, {"w": torch.zeros(1)}))


def push(shard, slot, sequence=1, loss=0.5, value=-1.0, acknowledged=0):
    shard.slots.wait(slot, None)
    shard.push(slot, sequence, loss, {"w": torch.full([1], value)}, acknowledged)


class Link(list):
    send_entry = list.append


def test_training_begins_when_all_workers_and_all_shards_are_there():
    shard, link = coordinator(workers=2, others=1), Link()
    first = join(shard, 0)
    assert first.answered is None and shard.poll(0)[0]["seconds"] is None
    second = join(shard, 1)
    assert second.answered is None, "the other shard is missing"
    shard.attach_followers([link])
    assert (first.answered, second.answered) == (0, 0)
    assert link == [Entry(0, joined=(first.connection, second.connection))]
    assert shard.poll(0)[0]["events"] == [], "to be there at the beginning is no event"


def test_a_training_that_has_all_its_steps_ends_as_it_begins():
    shard = coordinator(limit=0)
    join(shard, 0)
    assert shard.slots.ended["why"] == "steps"


def test_the_last_step_ends_it_and_its_record_says_who_when_and_how(clock):
    shard = coordinator(limit=2)
    slot = join(shard, 0)
    for sequence in (1, 2):
        clock[0] += 1.5
        push(shard, slot, sequence, loss=0.25 * sequence, acknowledged=sequence - 1)
        assert bool(shard.slots.ended) is (sequence == 2)
    status, records = shard.poll(0)
    assert records == [(1, 0, 0, 0.25, 1.5, 1.5), (2, 0, 1, 0.5, 3.0, 3.0)] and shard.poll(1)[1] == records[1:]
    assert (status["version"], status["seconds"], status["live"], status["ended"]["why"]) == (2, 3.0, [0], "steps")
    assert (status["sent"], status["acknowledged"], status["applied"]) == ({0: 2}, {0: 1}, {0: 2})
    push_after = status["applied"]
    shard.push(slot, 3, 0.0, {"w": torch.ones(1)}, 0)
    assert shard.poll(0)[0]["applied"] == push_after and shard.store.version == 2


def test_an_older_session_of_a_worker_is_refused_and_the_same_one_may_come_again():
    shard = coordinator(workers=2)
    join(shard, 0, "old")
    shard.admit(0, "old"), shard.admit(0, "new")
    join(shard, 0, "new")
    with pytest.raises(ValueError, match="worker 0 of this session was replaced by another process"):
        join(shard, 0, "old", 2)
    assert join(shard, 0, "new", 2).attempt == 2
    with pytest.raises(ValueError, match="workers are 0 to 1"):
        join(shard, 2)


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (torch.tensor([torch.nan]), {"why": "not finite", "text": "the gradient of 'w'", "version": 0}),
        (torch.zeros(2), {"why": "error", "text": "worker 0: push(gradients='w': (2,)"}),
    ],
)
def test_a_push_that_cannot_be_applied_ends_the_training_on_either_sort_of_shard(value, end):
    shard = coordinator()
    slot = join(shard, 0)
    shard.slots.wait(slot, None)
    shard.push(slot, 1, 0.0, {"w": value}, 0)
    follower, reports = follower_of()
    slot = join(follower, 0)
    slot.version = 0
    follower.push(slot, 1, 0.0, {"w": value}, 0)
    for ended in (shard.slots.ended, *reports):
        assert {**ended, "text": ended["text"][: len(end["text"])]} == end
    assert shard.store.version == 0 and len(reports) == 1


def test_a_lost_worker_is_told_with_its_reason_and_step_and_forgiven_when_it_comes_back(clock):
    shard = coordinator(workers=2)
    slots = [join(shard, worker) for worker in (0, 1)]
    push(shard, slots[0])
    clock[0] += 2
    shard.leave(slots[0], "killed")
    shard.leave(slots[0], "twice")
    shard.leave(slots[1], "silence", silent=True)
    status = shard.poll(0)[0]
    assert (status["live"], status["lost"]) == ([], {0: "killed (after step 1)", 1: "silence (after step 1)"})
    assert status["events"] == [(2, "worker lost", 0, 1, "killed"), (2, "worker counted out", 1, 1, "silence")]
    again = join(shard, 0, attempt=2)
    status = shard.poll(0, events=2)[0]
    assert (status["live"], list(status["lost"]), again.answered) == ([0], [1], 1)
    assert status["events"] == [(2, "worker joined", 0, 1, "")]


def lose(shard, worker, times, answered=True):
    """Let the worker join and be lost so often; it has had parameters each time if it was `answered`."""
    for attempt in range(times):
        assert shard.slots.ended is None
        slot = join(shard, worker, attempt=attempt)
        if answered:
            shard.slots.wait(slot, None)
        shard.leave(slot, "exit 1")


def test_a_worker_that_is_lost_five_times_without_an_update_ends_the_training():
    shard = coordinator()
    lose(shard, 0, 4)
    push(shard, join(shard, 0))
    assert shard.store.version == 1
    lose(shard, 0, 5)  # an update begins the count anew
    assert shard.slots.ended["why"] == "stuck" and shard.slots.ended["worker"] == 0
    assert shard.slots.ended["text"].endswith("exit 1 (after step 1)")


def test_a_worker_that_is_lost_before_its_first_parameters_is_not_counted_and_one_at_version_0_is():
    shard = coordinator(workers=2)
    lose(shard, 0, 9, answered=False)
    first = shard.poll(0)[0]["events"][0]
    assert first == (0.0, "worker lost", 0, 0, "exit 1"), "time begins with the training"
    join(shard, 1)
    lose(shard, 0, 5)
    assert shard.slots.ended["why"] == "stuck"


@pytest.mark.parametrize("workers", [3, 32])
def test_who_does_not_join_in_time_is_named_and_many_have_longer(clock, workers):
    shard = coordinator(workers)
    join(shard, 1)
    limit = ALL_WORKERS_JOIN + workers * EACH_WORKER_JOINS
    clock[0] += limit
    assert shard.poll(0)[0]["ended"] is None
    clock[0] += 0.1
    ended = shard.poll(0)[0]["ended"]
    assert ended["why"] == "error" and ended["worker"] == 0
    assert ended["text"].startswith(f"workers {[0, *range(2, workers)]} have not joined after {limit:.0f} s")


def test_after_a_loss_of_shards_it_goes_on_with_the_workers_that_are_there(clock):
    for incarnation, others, begins in ((1, 0, True), (0, 0, False), (1, 1, False)):
        shard = coordinator(workers=2, incarnation=incarnation, others=others)
        slot = join(shard, 0)
        clock[0] += WORKERS_REJOIN
        assert shard.poll(0)[0]["seconds"] is None
        clock[0] += 0.1
        shard.poll(0)
        assert (slot.answered == 0) is begins and shard.slots.ended is None


def test_without_any_worker_for_long_it_is_lost(clock):
    shard = coordinator()
    slot = join(shard, 0)
    clock[0] += 1000
    assert shard.poll(0)[0]["ended"] is None, "one is there"
    shard.leave(slot, "killed")
    clock[0] += NO_WORKER_LEFT
    assert shard.poll(0)[0]["ended"] is None
    clock[0] += 0.1
    assert shard.poll(0)[0]["ended"] == {"why": "lost", "text": f"no worker for {NO_WORKER_LEFT:.0f} s"}


def test_an_optimiser_that_raises_ends_the_training_with_its_words_on_either_sort_of_shard():
    class Broken(torch.optim.SGD):
        def step(self, closure=None):
            raise SystemExit("mine")

    shard = coordinator(optimizer=partial(Broken, lr=1.0))
    slot = join(shard, 0)
    push(shard, slot)
    assert shard.slots.ended["why"] == "error" and "the optimiser raised" in shard.slots.ended["text"]
    status = shard.poll(0)[0]
    assert (status["applied"], status["dropped"], status["degraded"]) == ({0: 0}, {0: 0}, 0)
    with pytest.raises(ValueError, match="the optimiser failed in update 1, which may be half made: .*mine"):
        shard.store.pull()
    follower, reports = follower_of(optimizer=partial(Broken, lr=1.0))
    follower.push(join(follower, 0), 1, 0.0, {"w": torch.ones(1)}, 0)
    follower.follow(Entry(1, used=(PushId(0, "s0", 1),)))
    assert reports[1]["why"] == "error" and reports[1] == follower.slots.ended


def test_a_push_waits_for_its_parts_on_every_other_shard_and_for_no_older_ones():
    shard, links = coordinator(workers=1, others=2), [Link(), Link()]
    slot = join(shard, 0)
    shard.attach_followers(links)
    push(shard, slot, sequence=2)
    for number, part in ((1, PushId(0, "s0", 2)), (2, PushId(0, "s0", 1)), (2, PushId(0, "old", 2))):
        shard.staged(number, part)
        assert shard.store.version == 0
    shard.staged(2, PushId(0, "s0", 2))
    assert shard.store.version == 1 and links[0] == links[1] and links[0][-1].used == (PushId(0, "s0", 2),)
    shard.staged(2, PushId(0, "s0", 2))
    assert shard.store.version == 1, "reported twice"


def test_copies_are_numbered_and_hold_the_state_only_where_it_is_asked_for():
    shard, link = (
        coordinator(others=1, incarnation=3, seed=8, optimizer=partial(torch.optim.SGD, lr=1.0, momentum=0.5)),
        Link(),
    )
    shard.attach_followers([link])
    join(shard, 0)
    (first, full), (second, bare) = shard.cut(), shard.cut(full=False)
    assert (first, second) == (1, 2) and [entry.cut for entry in link[-2:]] == [(1, True, 1), (2, False, 1)]
    assert (full.kind, full.incarnation, full.seed) == ("SGD", 3, 8) and list(full.applied) == ["s0"]
    assert bare.kind == "" and ordered_copies.Copy(1, shard.store, True, [], 0, 0, {}).snapshot().applied == {}


@pytest.fixture
def ahead(monkeypatch):
    monkeypatch.setattr(ordered_copies, "AHEAD", 5)


def pushing(shard, count):
    """Have a worker push until version `count`, in a thread, which is returned."""

    def work():
        slot = join(shard, 0)
        for sequence in range(1, count + 1):
            push(shard, slot, sequence)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def comes_to(shard, version):
    deadline = time.monotonic() + 30
    while shard.store.version < version:
        assert time.monotonic() < deadline
    return True


@pytest.mark.parametrize("nbytes", [4, ordered_copies.COPIES_NBYTES])
def test_copies_are_kept_until_hooks_were_told_and_training_waits_for_these(ahead, nbytes):
    shard = coordinator(limit=30)
    shard.order_copies([(3, False), (6, True)], nbytes)
    worker = pushing(shard, 30)
    # the copy of 3 is five behind, or the second copy is there, and two are the most of such large parameters
    waits_at = 8 if nbytes == 4 else 6
    assert comes_to(shard, waits_at)
    worker.join(0.1)
    assert worker.is_alive() and shard.store.version == waits_at
    copy = shard.take_copy(3)
    first = copy.snapshot()
    assert (copy.number, first.version, first.parameters["w"].item(), first.kind) == (1, 3, 3.0, "")
    assert shard.take_copy(3) is None and shard.take_copy(4) is None
    assert comes_to(shard, 9)
    shard.poll(0, told=10)
    assert shard.take_copy(6) is None and comes_to(shard, 15)
    assert shard.take_copy(12).snapshot().kind == "SGD"
    shard.order_copies([], 0)  # the driver has gone
    assert comes_to(shard, 30) and shard.slots.ended["why"] == "steps"
    worker.join(30)


def test_who_waits_for_hooks_hears_of_the_end(ahead):
    shard = coordinator(limit=30)
    shard.order_copies([(1, False)], 4)
    worker = pushing(shard, 30)
    assert comes_to(shard, 6)
    shard.end("stopped")
    worker.join(30)
    assert not worker.is_alive() and shard.store.version == 6 and shard.take_copy(1).snapshot().version == 1


def test_no_copy_is_given_up_by_the_followers_while_the_driver_takes_its_parts():
    shard = coordinator(limit=30)
    shard.order_copies([(1, False)], 4)
    slot = join(shard, 0)
    for sequence in (1, 2):
        push(shard, slot, sequence)
    assert shard.take_copy(2).number == 2 and shard.cut()[0] == 3
    assert shard._cut(False)[0] == (4, False, 1), "parts 2 and 3 are still with the followers"
    shard.poll(0, told=2)
    assert shard._cut(False)[0] == (5, False, 5)


def test_a_follower_keeps_its_part_of_each_copy_that_is_still_needed():
    follower, _ = follower_of()
    for cut in ((1, False, 1), (2, False, 1), (3, False, 2)):
        follower.follow(Entry(0, cut=cut))
    assert [follower.wait_for_cut(number, 0).version for number in (3, 2)] == [0, 0]
    with pytest.raises(TimeoutError):
        follower.wait_for_cut(1, 0)


def test_a_follower_keeps_the_newest_copy_until_it_is_taken_and_says_when_none_came():
    follower, _ = follower_of(incarnation=2)
    follower.follow(Entry(0, cut=(1, True, 1)))
    follower.follow(Entry(0, cut=(2, False, 2)))
    with pytest.raises(TimeoutError, match="cut 1 has not come after 0 s"):
        follower.wait_for_cut(1, 0)
    assert follower.wait_for_cut(2, 0).incarnation == 2
    with pytest.raises(TimeoutError):
        follower.wait_for_cut(2, 0)
    assert follower.poll(0, 0) == ({"version": 0, "incarnation": 2, "ended": None}, [])
    follower.follow(Entry(0, ended={"why": "steps", "text": "", "worker": 4}))
    assert follower.poll(0, 0)[0]["ended"] == {"why": "steps", "text": "", "worker": 4}


def test_a_follower_that_is_at_another_version_or_lacks_a_part_says_so():
    follower, _ = follower_of(workers=2)
    with pytest.raises(ValueError, match="shard 0 is at version 3, this shard at 0"):
        follower.follow(Entry(3))
    with pytest.raises(ValueError, match="a push that never came here"):
        follower.follow(Entry(1, used=(PushId(0, "s", 1),)))
    with pytest.raises(ValueError, match="workers are 0 to 1"):
        follower.admit(2, "s")


def test_a_follower_tells_of_parts_and_of_lost_connections_once_shard_0_has_come():
    follower, reports = follower_of(workers=2)
    follower.report, slot = None, join(follower, 0, "s")
    with pytest.raises(ConnectionError, match="shard 0 has not come yet"):
        follower.push(slot, 1, 0.0, {"w": torch.ones(1)}, 0)
    follower.leave(join(follower, 1, "t"), "left", False)  # to nobody yet
    follower.report = reports.append
    newer = join(follower, 0, "s", 2)
    follower.push(slot, 2, 0.0, {"w": torch.ones(1)}, 0)
    follower.leave(slot, "late", False)
    assert reports == [], "a newer connection has its place"
    follower.push(newer, 2, 0.0, {"w": torch.ones(1)}, 0)
    follower.leave(newer, "killed", False)
    assert reports == [PushId(0, "s", 2), {"left": newer.connection}]
    last = join(follower, 0, "s", 3)
    follower.end("closed")
    follower.leave(last, "stopped", False)
    assert len(reports) == 2, "after the end nobody is lost"


def test_the_end_is_told_to_every_other_shard_once():
    shard, links = coordinator(others=2), [Link(), Link()]
    shard.attach_followers(links)
    join(shard, 0)
    before = len(links[0])
    shard.end("stopped", "by a hook", worker=0)
    shard.end("error")
    assert [link[before:] for link in links] == 2 * [[Entry(0, ended=shard.slots.ended)]]
    assert shard.slots.ended == {"why": "stopped", "text": "by a hook", "worker": 0}


@pytest.mark.parametrize("entry", [{"dropped": (PushId(0, "s", 1),)}, {"joined": (PushId(0, "s", 2),)}])
def test_a_part_that_was_dropped_or_is_void_is_not_kept(entry):
    follower, _ = follower_of()
    gradient = torch.ones(1)
    reference = weakref.ref(gradient)
    follower.push(join(follower, 0, "s"), 1, 0.0, {"w": gradient}, 0)
    del gradient
    assert reference() is not None
    follower.follow(Entry(0, **entry))
    assert reference() is None
    with pytest.raises(ValueError, match="a push that never came here"):
        follower.follow(Entry(1, used=(PushId(0, "s", 1),)))
