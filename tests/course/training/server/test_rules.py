"""The rules: at once, or when enough workers have pushed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course.training import Asynchronous, Push, Synchronous, train_in_turns
from course.training.server.rules import mean_of
from tests.helpers.shards_here import PROBLEM, SGD, counting_store, one


def test_too_stale_gradients_are_dropped_and_counted():
    rule = Asynchronous(counting_store(), max_staleness=1)
    for _ in range(4):
        rule.offer(Push(1, rule.store.version, one(1)))
    assert rule.offer(Push(0, 2, one(0))) == []
    assert rule.offer(Push(0, 3, one(0))) != []
    assert dict(rule.dropped) == {0: 1}
    assert rule.store.pull().parameters["count"].tolist() == [1, 4, 0]


def test_a_synchronous_update_waits_for_distinct_workers():
    rule = Synchronous(counting_store(), workers=2)
    assert rule.offer(Push(0, 0, one(0))) == [] and rule.is_waiting(0)
    assert rule.offer(Push(0, 0, one(2))) == [], "the same worker again is not a second worker"
    assert rule.store.version == 0 and dict(rule.dropped) == {0: 1}
    applied = rule.offer(Push(1, 0, one(1)))
    assert [push.worker for push in applied] == [0, 1] and not rule.is_waiting(0)
    assert rule.store.pull().parameters["count"].tolist() == [0.5, 0.5, 0]


def test_the_push_of_a_worker_that_died_since_counts_in_the_update_it_was_made_for():
    rule = Synchronous(counting_store(), workers=3)
    assert rule.offer(Push(2, 0, one(2)), {0, 1, 2}) == []
    assert rule.settle({0, 1}) == [], "two are still to come"
    assert rule.offer(Push(0, 0, one(0)), {0, 1}) == []
    assert [push.worker for push in rule.offer(Push(1, 0, one(1)), {0, 1})] == [0, 1, 2]
    assert rule.store.pull().parameters["count"].tolist() == pytest.approx([1 / 3] * 3) and rule.degraded == 0
    # and where another dies that has not pushed, nobody waits for it
    rule.offer(Push(2, 1, one(2)), {0, 2})
    assert [push.worker for push in rule.offer(Push(0, 1, one(0)), {0})] == [0, 2]
    assert rule.degraded == 1 and rule.store.version == 2


def test_stragglers_of_n_of_m_are_dropped_and_counted():
    rule = Synchronous(counting_store(), workers=3, aggregate=2)
    for worker in (2, 0):
        rule.offer(Push(worker, 0, one(worker)))
    assert rule.offer(Push(1, 0, one(1))) == [] and not rule.is_waiting(1)
    assert dict(rule.dropped) == {1: 1}
    assert rule.store.pull().parameters["count"].tolist() == [0.5, 0, 0.5]


@given(order=st.permutations(range(4)), seed=st.integers(0, 1000))
def test_the_order_of_arrival_does_not_change_a_bit_of_a_synchronous_update(order, seed):
    gradients = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed)) * torch.logspace(0, 7, 4)[:, None]

    def after(workers):
        rule = Synchronous(counting_store(), workers=4)
        for worker in workers:
            rule.offer(Push(worker, 0, {"count": gradients[worker]}))
        return rule.store.pull().parameters["count"]

    assert torch.equal(after(order), after(range(4)))


@pytest.mark.parametrize(
    "arguments",
    [{"mode": "both"}, {"mode": "sync", "max_staleness": 1}, {"aggregate": 1}, {"mode": "sync", "aggregate": 0}]
    + [{"mode": "sync", "workers": 2, "aggregate": 3}, {"max_staleness": -1}],
)
def test_a_rule_that_does_not_exist_is_refused(arguments):
    with pytest.raises(ValueError, match="mode=|aggregate=|max_staleness="):
        train_in_turns(PROBLEM, optimizer=SGD, **arguments)


def test_a_bound_of_no_staleness_takes_only_what_is_not_stale():
    rule = Asynchronous(counting_store(), max_staleness=0)
    push = Push(0, 0, one(0))
    assert rule.offer(push) == [push] and rule.offer(push) == []
    assert (rule.degraded, rule.is_waiting(0), rule.settle({0})) == (0, False, [])


def test_where_all_workers_are_gone_what_they_pushed_waits_for_the_first_that_comes_back():
    rule = Synchronous(counting_store(), workers=2)
    rule.offer(Push(0, 0, one(0)), {0, 1})
    assert rule.settle(set()) == [] and rule.settle(None) == [] and rule.is_waiting(0)
    assert [push.worker for push in rule.settle({0})] == [0] and rule.degraded == 1
    rule.offer(Push(1, 1, one(1)), {0, 1})
    rule.withdraw(1), rule.withdraw(0)
    assert not rule.is_waiting(1) and rule.settle({1}) == [] and rule.store.version == 1


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_a_mean_is_the_sum_divided_bit_for_bit_down_to_the_smallest_numbers(count):
    generator = torch.Generator().manual_seed(count)
    scales = torch.tensor([1.0, 1e30, 1e-38, 1e-44])  # the last are below float32's normal numbers
    vectors = [torch.randn(1000, 4, generator=generator) * scales for _ in range(count)]
    total = vectors[0].clone()
    for more in vectors[1:]:
        total += more
    assert torch.equal(mean_of([{"w": vector} for vector in vectors])["w"], total / count)
    assert mean_of([{"w": total}])["w"] is total


def test_a_mean_of_a_power_of_two_is_multiplied_which_takes_half_the_time(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "div_", None)
    for count in (2, 4, 8):
        assert mean_of([{"w": torch.ones(3)}] * count)["w"].tolist() == [1, 1, 1]
