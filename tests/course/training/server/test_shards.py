"""Parameters over several shards: where they lie, and that all shards together are one store."""

import random
from collections import deque
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course.training import ParameterServer, train_in_turns
from course.training.driver.training_plan import spread
from course.training.records import TrainingSettings
from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.server.reply_slots import ReplySlot
from course.training.server.rules import mean_of
from course.training.server.update_log import Entry, PushId
from tests.helpers.shards_here import PROBLEM, SGD, connected, ended, shards, working

OPTIMIZERS = {
    "SGD": SGD,
    "momentum": partial(torch.optim.SGD, lr=0.01, momentum=0.9),
    "Adam": partial(torch.optim.Adam, lr=0.05),
    "Adagrad": partial(torch.optim.Adagrad, lr=0.8),
    "AdamW": partial(torch.optim.AdamW, lr=0.05),
}


# --- where they lie --------------------------------------------------------------------------------------------------

sizes = st.lists(st.integers(0, 50), min_size=1, max_size=12)


@given(sizes=sizes, count=st.integers(1, 5), placement=st.sampled_from(["by_size", "round_robin"]))
def test_every_parameter_lies_on_one_shard_and_no_shard_is_empty(sizes, count, placement):
    parameters = {f"p{i}": torch.zeros(size) for i, size in enumerate(sizes)}
    held = spread(parameters, count, placement)
    assert sorted(name for names in held for name in names) == sorted(parameters)
    assert len(held) == min(count, len(parameters)) and all(held)


@given(sizes=sizes, count=st.integers(1, 5))
def test_by_size_no_shard_is_heavier_than_another_by_more_than_its_lightest_tensor(sizes, count):
    parameters = {f"p{i}": torch.zeros(size) for i, size in enumerate(sizes)}
    held = spread(parameters, count)
    weights = [[parameters[name].nbytes for name in names] for names in held]
    assert max(sum(w) - min(w) for w in weights) <= min(map(sum, weights))


def test_equal_sizes_keep_their_order():
    parameters = {name: torch.zeros(3) for name in "dbac"}
    assert spread(parameters, 2) == [["d", "a"], ["b", "c"]] == spread(parameters, 2, "round_robin")


def test_another_placement_is_refused():
    with pytest.raises(ValueError, match="alphabetical.*by_size"):
        spread({"a": torch.zeros(1)}, 1, "alphabetical")


# --- shard 0 alone ---------------------------------------------------------------------------------------------------


def coordinator(workers, mode="async"):
    """Shard 0 without others, whose parameter counts pushes by worker; and the slots of its joined workers."""
    store = ParameterServer({"count": torch.zeros(workers)}, partial(torch.optim.SGD, lr=1.0))
    shard = Coordinator(store, TrainingSettings(mode, workers, 10**6), 0, None, others=0)
    counts = [torch.zeros(workers) for _ in range(workers)]
    return shard, [shard.join(ReplySlot(w, f"s{w}", 1, {"count": counts[w]})) for w in range(workers)]


def pushed(shard, slot, sequence):
    """Push for the slot's worker, once it is answered; return the version it is answered with."""
    shard.slots.wait(slot, None)
    shard.push(slot, sequence, 0.0, {"count": -torch.eye(len(slot.into["count"]))[slot.worker]}, 0)
    return slot.answered


def test_a_number_that_was_pushed_before_is_answered_and_not_applied_again():
    shard, (slot,) = coordinator(1)
    assert pushed(shard, slot, 1) == 1
    assert pushed(shard, slot, 1) == 1, "sent twice"
    assert pushed(shard, slot, 2) == 2
    assert pushed(shard, slot, 1) == 2, "an older one"
    assert pushed(shard, slot, 3) == 3 and slot.taken == 3
    status, records = shard.poll(0)
    assert (status["applied"], status["sent"], len(records)) == ({0: 3}, {0: 3}, 3)
    assert shard.store.pull().parameters["count"].tolist() == [3]


def test_a_number_that_a_broken_connection_left_open_counts_once_on_the_next():
    shard, (slot,) = coordinator(1)
    pushed(shard, slot, 1)
    again = shard.join(ReplySlot(0, "s0", 2, {"count": torch.zeros(1)}))
    shard.push(slot, 1, 0.0, {"count": -torch.ones(1)}, 0)  # what was on its way comes after all
    assert pushed(shard, again, 1) == 1 and pushed(shard, again, 2) == 2
    assert shard.poll(0)[0]["applied"] == {0: 2}


def test_in_a_synchronous_step_a_dead_workers_push_counts_and_is_asked_of_nobody_again():
    shard, slots = coordinator(3, "sync")
    pushed(shard, slots[2], 1)
    shard.leave(slots[2], "killed")
    pushed(shard, slots[0], 1)
    assert shard.store.version == 0, "worker 1 lives, and is waited for"
    assert pushed(shard, slots[1], 1) == 1
    status, _ = shard.poll(0)
    assert status["applied"] == {0: 1, 1: 1, 2: 1} and status["degraded"] == 0
    assert shard.store.pull().parameters["count"].tolist() == pytest.approx([1 / 3] * 3)
    again = shard.join(ReplySlot(2, "next life", 1, {"count": torch.zeros(3)}))
    assert again.answered == 1 and again.taken == 0
    for slot, sequence in ((again, 1), (slots[0], 2), (slots[1], 2)):
        pushed(shard, slot, sequence)
    assert shard.store.version == 2 and shard.poll(0)[0]["degraded"] == 0


def test_a_worker_that_comes_again_before_the_step_pushes_anew_and_counts_once():
    shard, slots = coordinator(2, "sync")
    pushed(shard, slots[1], 1)
    again = shard.join(ReplySlot(1, "s1", 2, {"count": torch.zeros(2)}))
    assert pushed(shard, slots[0], 1) is None, "the first push of worker 1 is void"
    assert pushed(shard, again, 2) == 1
    assert shard.poll(0)[0]["applied"] == {0: 1, 1: 1}


# --- all shards together are one store -------------------------------------------------------------------------------


class Far:
    """A link to a follower whose messages, both ways, lie in queues until the test delivers them."""

    def __init__(self, follower):
        self.follower, self.orders, self.reports = follower, deque(), deque()
        follower.report = self.reports.append

    def send_entry(self, entry):
        self.orders.append(Entry.from_json(entry.as_json()))


class Recorded(Coordinator):
    """Shard 0, which lets the test hear its order: with one shard it tells nobody else."""

    def _order(self, **entry):
        self.tell(Entry(self.store.version, **entry))
        super()._order(**entry)


class Play:
    """Workers, shards and everything between them, moved one step at a time by what Hypothesis draws."""

    def __init__(self, count, workers, mode, max_staleness=None, aggregate=None):
        self.initial = {f"p{i}": torch.arange(float(i + 2)) for i in range(3)}
        self.optimizer = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
        told = TrainingSettings(mode, workers, 10**6, max_staleness, aggregate)
        self.names = spread(self.initial, count)
        stores = [ParameterServer({n: self.initial[n] for n in names}, self.optimizer) for names in self.names]
        self.shards = [Recorded(stores[0], told, 0, None, others=count - 1)]
        self.shards += [Follower(store, told, 0) for store in stores[1:]]
        self.links = [Far(follower) for follower in self.shards[1:]]
        self.order, self.store = [], ParameterServer(self.initial, self.optimizer)
        self.versions = [self.store.pull().parameters]
        self.shards[0].tell = self.tell
        self.shards[0].attach_followers(self.links)
        self.gradients, self.cuts = {}, {}
        self.slots, self.attempts, self.sent, self.unsent = [None] * workers, [0] * workers, [0] * workers, {}
        for worker in range(workers):
            self.reconnect(worker)

    def reconnect(self, worker):
        self.attempts[worker] += 1
        self.late = (worker, self.slots[worker], *self.unsent.pop(worker, (None, set())))
        slots = []
        for number in reversed(range(len(self.shards))):
            into = {name: torch.empty_like(self.initial[name]) for name in self.names[number]}
            slot = ReplySlot(worker, f"s{worker}", self.attempts[worker], into)
            slots.insert(0, self.shards[number].join(slot))
        self.slots[worker] = slots

    def leave(self, worker):
        self.shards[0].leave(self.slots[worker][0], "left")
        self.reconnect(worker)

    def step(self, worker):
        """One worker's whole step, if it is its turn."""
        self.receive(worker)
        for number in range(len(self.shards)):
            self.send(worker, number)

    def receive(self, worker):
        """If every shard has answered: check that it is one version, and compute the next gradient."""
        slots = self.slots[worker]
        if worker in self.unsent or any(slot.answered is None for slot in slots):
            return
        versions = [shard.slots.wait(slot, None) for shard, slot in zip(self.shards, slots, strict=True)]
        assert len(set(versions)) == 1
        wanted = self.versions[versions[0]]
        for slot in slots:
            assert all(torch.equal(value, wanted[name]) for name, value in slot.into.items())
        self.sent[worker] += 1
        push = PushId(worker, f"s{worker}", self.sent[worker])
        generator = torch.Generator().manual_seed(worker * 1000 + self.sent[worker])
        self.gradients[push] = {n: torch.randn(v.shape, generator=generator) for n, v in self.initial.items()}
        self.unsent[worker] = (push, set(range(len(self.shards))))

    def send(self, worker, number):
        """Let the worker's part for one shard arrive there."""
        push, missing = self.unsent.get(worker, (None, set()))
        if number not in missing:
            return
        missing.discard(number)
        self._arrive(worker, number, push)
        if not missing:
            del self.unsent[worker]

    def arrive_late(self):
        """Let what was on its way when a connection broke arrive after all, at the threads that served it."""
        worker, slots, push, missing = self.late
        for number in missing:
            part = {name: self.gradients[push][name] for name in self.names[number]}
            self.shards[number].push(slots[number], push.sequence, 0.0, part, 0)
        self.late = (None, None, None, set())

    def again(self, worker):
        """Let a push that was sent before arrive once more, everywhere."""
        if worker in self.unsent or not self.sent[worker] or self.slots[worker][0].version < 0:
            return
        if any(slot.answered is None for slot in self.slots[worker]):
            return  # it waits for an answer: nothing more can come on this connection
        for number in range(len(self.shards)):
            self.shards[number].slots.wait(self.slots[worker][number], None)
            self._arrive(worker, number, PushId(worker, f"s{worker}", max(1, self.shards[0]._table.last(f"s{worker}"))))

    def _arrive(self, worker, number, push):
        gradients = self.gradients.get(push) or next(iter(self.gradients.values()))
        part = {name: gradients[name] for name in self.names[number]}
        slot = self.slots[worker][number]
        self.shards[number].push(slot, push.sequence, 0.0, part, 0)

    def deliver(self, link, report):
        if link >= len(self.links):
            return
        far = self.links[link]
        if report and far.reports:
            told = far.reports.popleft()
            self.shards[0].left(told["left"]) if isinstance(told, dict) else self.shards[0].staged(link, told)
        elif not report and far.orders:
            self.follow(far)

    def follow(self, far):
        entry = far.orders.popleft()
        far.follower.follow(entry)
        if entry.cut:
            part = far.follower.wait_for_cut(entry.cut[0], 0)
            self.check_cut(part)

    def cut(self):
        _, part = self.shards[0].cut()
        self.check_cut(part)

    def check_cut(self, part):
        wanted = self.versions[part.version]
        assert all(torch.equal(value, wanted[name]) for name, value in part.parameters.items())

    def drain(self):
        while any(far.orders or far.reports for far in self.links):
            for link in range(len(self.links)):
                self.deliver(link, report=True)
                self.deliver(link, report=False)

    def tell(self, entry):
        """Hear the order as shard 0 tells it: one unsharded store, fed with it, is what the shards must be."""
        self.order.append(entry)
        if entry.used:
            self.store.apply(mean_of([self.gradients[push] for push in entry.used]), self.store.version)
            self.versions.append(self.store.pull().parameters)


RULES = st.sampled_from(
    [{"mode": "async"}, {"mode": "async", "max_staleness": 0}, {"mode": "async", "max_staleness": 2}]
    + [{"mode": "sync"}, {"mode": "sync", "aggregate": 1}, {"mode": "sync", "aggregate": 2}]
)
MOVES = ["receive", "send", "deliver", "deliver", "step", "step", "drain", "reconnect", "leave", "again", "late", "cut"]


@settings(max_examples=150)
@given(count=st.integers(1, 3), workers=st.integers(2, 3), rule=RULES, seed=st.integers(0, 2**32))
def test_whatever_the_order_of_arrival_all_shards_are_one_store(count, workers, rule, seed):
    play, dice = Play(count, workers, **rule), random.Random(seed)
    for _ in range(dice.randrange(80)):
        move, worker, shard = dice.choice(MOVES), dice.randrange(workers), dice.randrange(count)
        if move == "deliver":
            play.deliver(shard, report=dice.random() < 0.5)
        elif move == "send":
            play.send(worker, shard)
        elif move in ("cut", "drain", "late"):
            {"cut": play.cut, "drain": play.drain, "late": play.arrive_late}[move]()
        else:
            getattr(play, move)(worker)
    play.drain()
    check_the_end(play, rule, workers)


def check_the_end(play, rule, workers):
    version = play.shards[0].store.version
    for follower in play.shards[1:]:
        assert len(follower._staged) <= workers, "what can't be used any more is not kept"
    wanted = play.versions[version]
    for shard in play.shards:
        assert shard.slots.ended is None and shard.store.version == version
        assert all(torch.equal(value, wanted[name]) for name, value in shard.store.pull().parameters.items())
    used = [push for entry in play.order for push in entry.used]
    dropped = [push for entry in play.order for push in entry.dropped]
    assert len(set(used + dropped)) == len(used + dropped), "no push is taken twice"
    for entry in play.order:
        at = [push.worker for push in entry.used]
        assert at == sorted(set(at)), "distinct workers, in worker order"
    status, records = play.shards[0].poll(0)
    if rule["mode"] == "sync":
        sizes = [len(entry.used) for entry in play.order if entry.used]
        wanted = rule.get("aggregate") or workers
        assert max(sizes, default=0) <= wanted
        assert status["degraded"] == sum(size < wanted for size in sizes)
    staleness = [step - 1 - seen for step, _, seen, *_ in records]
    assert max(staleness, default=0) <= (rule.get("max_staleness", 10**6) if rule["mode"] == "async" else 0)
    for worker in range(workers):
        assert status["applied"][worker] == sum(push.worker == worker for push in used)
        assert status["applied"][worker] + status["dropped"][worker] <= play.sent[worker]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_asynchronous_worker_is_the_plain_loop_bit_for_bit_on_any_number_of_shards(name, count):
    optimizer = OPTIMIZERS[name]
    with shards(count, optimizer=optimizer, limit=30) as (addresses, _), connected(addresses) as client:
        with working(addresses):
            ended(client)
        snapshot = client.snapshot()
    reference = ParameterServer(PROBLEM.initial(), optimizer)
    wanted = train_in_turns(PROBLEM, optimizer=optimizer, total_steps=30).parameters
    assert snapshot.version == 30 and list(snapshot.parameters) == list(wanted)
    assert all(torch.equal(snapshot.parameters[key], wanted[key]) for key in wanted)
    assert snapshot.kind == reference.state().kind
