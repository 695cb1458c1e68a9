"""Parameters over several shards: where they lie, and that all shards together are one store."""

import random
from collections import deque
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course.training import ParameterServer
from course.training.driver.shard_client import _placed
from course.training.driver.training_plan import spread
from course.training.records import TrainingSettings
from course.training.server.coordinator import Coordinator
from course.training.server.follower import Follower
from course.training.server.reply_slots import ReplySlot
from course.training.server.rules import mean_of
from course.training.server.update_log import Entry, PushId
from tests.helpers.shards_here import SGD, check_it_is_the_plain_loop, counting_store

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


def test_a_rules_parameters_lie_where_it_says_and_an_index_of_no_shard_is_refused():
    parameters = {name: torch.zeros(size) for name, size in (("a", 1), ("b", 2), ("c", 3))}
    assert spread(parameters, 3, lambda name, tensor: 2 if tensor.numel() > 1 else 0) == [["a"], [], ["b", "c"]]
    for index in (2, -1, True, 0.0, None):
        with pytest.raises(ValueError, match="'a'. Return the index of one of 2 ps tasks, 0 to 1"):
            spread(parameters, 2, lambda name, tensor, index=index: index)


def test_what_a_rule_gives_to_a_ps_task_that_is_away_the_next_one_keeps():
    parameters = {name: torch.zeros(1) for name in "abc"}
    plan = SimpleNamespace(ps=("ps0", "ps1", "ps2"))

    def kept(ps):
        return _placed(parameters, ps, plan, lambda name, tensor: "abc".index(name))

    assert kept(["ps0", "ps1", "ps2"]) == (("ps0", "ps1", "ps2"), [["a"], ["b"], ["c"]])
    assert kept(["ps0", "ps2"]) == (("ps0", "ps2"), [["a"], ["b", "c"]])
    assert kept(["ps0", "ps1"]) == (("ps0", "ps1"), [["a", "c"], ["b"]])


# --- shard 0 alone ---------------------------------------------------------------------------------------------------


def coordinator(workers, mode="async"):
    """Shard 0 without others, whose parameter counts pushes by worker; and the slots of its joined workers."""
    shard = Coordinator(counting_store(workers), TrainingSettings(mode, workers, 10**6), 0, None, others=0)
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


class Link:
    """A link to a follower whose messages, both ways, lie in queues until the test delivers them."""

    def __init__(self, follower):
        self.follower, self.log, self.reports = follower, deque(), deque()
        follower.report = self.reports.append

    def send_entry(self, entry):
        self.log.append(Entry.from_json(entry.as_json()))


class Recorded(Coordinator):
    """Shard 0, which lets the test hear its order: with one shard it tells nobody else."""

    def _order(self, **entry):
        self.hear(Entry(self.store.version, **entry))
        super()._order(**entry)


class Play:
    """Workers, shards and everything between them, moved one step at a time by what Hypothesis draws.

    `store` is one unsharded store, fed with shard 0's order: all shards together must be like it at every version.
    """

    def __init__(self, count, workers, rule):
        self.initial = {f"p{i}": torch.arange(float(i + 2)) for i in range(3)}
        settings, optimizer = (
            TrainingSettings(workers=workers, limit=10**6, **rule),
            partial(torch.optim.SGD, lr=0.1, momentum=0.9),
        )
        self.names = spread(self.initial, count)
        stores = [ParameterServer({n: self.initial[n] for n in names}, optimizer) for names in self.names]
        self.first, *followers = [Recorded(stores[0], settings, 0, None, others=count - 1)] + [
            Follower(store, settings, 0) for store in stores[1:]
        ]
        self.shards, self.links = [self.first, *followers], [Link(follower) for follower in followers]
        self.order, self.store = [], ParameterServer(self.initial, optimizer)
        self.versions, self.gradients = [self.store.pull().parameters], {}
        self.first.hear = self.hear
        self.first.attach_followers(self.links)
        self.slots, self.attempts, self.sent = [None] * workers, [0] * workers, [0] * workers
        self.unsent, self.late = {}, None  # worker -> its push and the shards where it has not arrived; of a connection
        for worker in range(workers):
            self.reconnect(worker)

    def hear(self, entry):
        self.order.append(entry)
        if entry.used:
            self.store.apply(mean_of([self.gradients[push] for push in entry.used]), self.store.version)
            self.versions.append(self.store.pull().parameters)

    def reconnect(self, worker):
        self.attempts[worker] += 1
        self.late = self.slots[worker], *self.unsent.pop(worker, (None, set()))
        slots = []
        for shard, names in reversed(list(zip(self.shards, self.names, strict=True))):
            into = {name: torch.empty_like(self.initial[name]) for name in names}
            slots.insert(0, shard.join(ReplySlot(worker, f"s{worker}", self.attempts[worker], into)))
        self.slots[worker] = slots

    def leave(self, worker):
        self.first.leave(self.slots[worker][0], "left")
        self.reconnect(worker)

    def step(self, worker):
        """One worker's whole step, if it is its turn."""
        self.receive(worker)
        for number in range(len(self.shards)):
            self.send(worker, number)

    def answers(self, worker):
        """Take the worker's answers, if every shard has one; return their version, None where one is missing."""
        slots = self.slots[worker]
        if worker in self.unsent or any(slot.answered is None for slot in slots):
            return None
        (version,) = {shard.slots.wait(slot, None) for shard, slot in zip(self.shards, slots, strict=True)}
        return version

    def receive(self, worker):
        """If every shard has answered: check that it is one version, and compute the next gradient."""
        version = self.answers(worker)
        if version is None:
            return
        for slot in self.slots[worker]:
            assert all(torch.equal(value, self.versions[version][name]) for name, value in slot.into.items())
        self.sent[worker] += 1
        push = PushId(worker, f"s{worker}", self.sent[worker])
        generator = torch.Generator().manual_seed(worker * 1000 + self.sent[worker])
        self.gradients[push] = {n: torch.randn(v.shape, generator=generator) for n, v in self.initial.items()}
        self.unsent[worker] = (push, set(range(len(self.shards))))

    def send(self, worker, number):
        """Let the worker's part for one shard arrive there."""
        push, missing = self.unsent.get(worker, (None, set()))
        if number in missing:
            missing.discard(number)
            self._arrive(self.slots[worker], number, push)
            if not missing:
                del self.unsent[worker]

    def arrive_late(self):
        """Let what was on its way when a connection broke arrive after all, at the threads that served it."""
        slots, push, missing = self.late
        for number in missing:
            self._arrive(slots, number, push)
        self.late = None, None, set()

    def again(self, worker):
        """Let a push that was sent before arrive once more, everywhere; not while the worker waits for an answer."""
        if self.sent[worker] and self.slots[worker][0].version >= 0 and self.answers(worker) is not None:
            push = PushId(worker, f"s{worker}", max(1, self.first._table.last(f"s{worker}")))
            for number in range(len(self.shards)):
                self._arrive(self.slots[worker], number, push)

    def _arrive(self, slots, number, push):
        gradients = self.gradients.get(push) or next(iter(self.gradients.values()))
        part = {name: gradients[name] for name in self.names[number]}
        self.shards[number].push(slots[number], push.sequence, 0.0, part, 0)

    def report(self, number):
        """Deliver the next report of a follower to shard 0."""
        if number < len(self.links) and self.links[number].reports:
            self.first.staged(number + 1, self.links[number].reports.popleft())

    def follow(self, number):
        """Deliver the next entry of shard 0's log to a follower."""
        if number < len(self.links) and self.links[number].log:
            follower, entry = self.links[number].follower, self.links[number].log.popleft()
            follower.follow(entry)
            if entry.cut:
                self._check(follower.wait_for_cut(entry.cut[0], 0))

    def cut(self):
        self._check(self.first.cut()[1])

    def _check(self, pulled):
        """Check that these parameters are those of their version."""
        wanted = self.versions[pulled.version]
        assert all(torch.equal(value, wanted[name]) for name, value in pulled.parameters.items())

    def drain(self):
        while any(link.log or link.reports for link in self.links):
            for number in range(len(self.links)):
                self.report(number)
                self.follow(number)

    def check_the_end(self, rule, workers):
        for follower in self.shards[1:]:
            assert len(follower._staged) <= workers, "what can't be used any more is not kept"
        for shard in self.shards:
            assert shard.slots.ended is None and shard.store.version == self.first.store.version
            self._check(shard.store.pull())
        used = [push for entry in self.order for push in entry.used]
        decided = used + [push for entry in self.order for push in entry.dropped]
        assert len(set(decided)) == len(decided), "no push is taken twice"
        for entry in self.order:
            at = [push.worker for push in entry.used]
            assert at == sorted(set(at)), "distinct workers, in worker order"
        status, records = self.first.poll(0)
        if rule["mode"] == "sync":
            sizes, wanted = [len(entry.used) for entry in self.order if entry.used], rule.get("aggregate") or workers
            assert max(sizes, default=0) <= wanted and status["degraded"] == sum(size < wanted for size in sizes)
        staleness = [step - 1 - version for step, _, version, *_ in records]
        assert max(staleness, default=0) <= (rule.get("max_staleness", 10**6) if rule["mode"] == "async" else 0)
        for worker in range(workers):
            assert status["applied"][worker] == sum(push.worker == worker for push in used)
            assert status["applied"][worker] + status["dropped"][worker] <= self.sent[worker]


RULES = st.sampled_from(
    [{"mode": "async"}, {"mode": "async", "max_staleness": 0}, {"mode": "async", "max_staleness": 2}]
    + [{"mode": "sync"}, {"mode": "sync", "aggregate": 1}, {"mode": "sync", "aggregate": 2}]
)
#: Each move, as often as it is to be drawn, with what it is about.
MOVES = [
    *((move, "worker") for move in ("receive", "step", "step", "reconnect", "leave", "again")),
    *((move, "shard") for move in ("report", "follow")),
    *((move, "") for move in ("drain", "cut", "arrive_late")),
    ("send", "worker, shard"),
]


@settings(max_examples=150)
@given(count=st.integers(1, 3), workers=st.integers(2, 3), rule=RULES, seed=st.integers(0, 2**32))
def test_whatever_the_order_of_arrival_all_shards_are_one_store(count, workers, rule, seed):
    play, dice = Play(count, workers, rule), random.Random(seed)
    for _ in range(dice.randrange(80)):
        (move, about), drawn = dice.choice(MOVES), {"worker": dice.randrange(workers), "shard": dice.randrange(count)}
        getattr(play, move)(*(drawn[name] for name in about.split(", ") if name))
    play.drain()
    play.check_the_end(rule, workers)


@pytest.mark.parametrize(
    "optimizer",
    [
        SGD,
        partial(torch.optim.SGD, lr=0.01, momentum=0.9),
        partial(torch.optim.Adam, lr=0.05),
        partial(torch.optim.Adagrad, lr=0.8),
        partial(torch.optim.AdamW, lr=0.05),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_asynchronous_worker_is_the_plain_loop_bit_for_bit_on_any_number_of_shards(optimizer, count):
    check_it_is_the_plain_loop(count, optimizer)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("setting", [{"mode": "sync", "workers": 3}, {"encrypted": True}])
def test_so_are_three_synchronous_workers_and_one_over_tls(setting, count):
    check_it_is_the_plain_loop(count, **setting)
