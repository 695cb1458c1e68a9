"""The store: parameters that change only by a push, one whole push at a time."""

import math
import weakref
from functools import partial

import pytest
import torch

from course.training import NonFiniteError, ParameterServer
from tests.helpers.shards_here import ONE, SGD, counting_store, one


def test_a_pull_is_the_newest_version_and_holds_every_push_so_far():
    store = counting_store()
    for push in range(5):
        version, parameters = store.pull()
        assert version == push
        assert parameters["count"].tolist() == [push, 0, 0]
        store.push(one(0), version)


def test_all_that_goes_in_or_out_is_a_copy():
    first = torch.zeros(3)
    store = ParameterServer({"count": first}, ONE)
    before = store.pull().parameters["count"]
    first.fill_(5)
    store.push(one(0), 0)
    assert before.tolist() == [0, 0, 0]
    store.pull().parameters["count"].fill_(99)
    assert store.pull().parameters["count"].tolist() == [1, 0, 0]


def test_a_pull_into_a_buffer_gives_the_same_as_a_fresh_pull():
    store = counting_store()
    store.push(one(1), 0)
    buffer = {"count": torch.full((3,), 7.0)}
    assert store.pull(into=buffer).version == 1
    assert torch.equal(buffer["count"], store.pull().parameters["count"])


def test_staleness_is_the_version_at_the_push_less_the_version_at_the_pull():
    store = counting_store()
    assert [store.push(one(0), 0), store.push(one(0), 0), store.push(one(0), 1)] == [0, 1, 1]
    assert store.version == 3


def test_push_pull_pushes_first():
    version, parameters = counting_store().push_pull(one(2), 0)
    assert version == 1 and parameters["count"].tolist() == [0, 0, 1]


def test_a_state_is_a_copy_to_go_on_from_with_the_same_optimiser_alone():
    store = ParameterServer({"count": torch.zeros(3)}, torch.optim.Adam)
    store.push(one(0), 0)
    state = store.state()
    store.push(one(0), 1)
    again = ParameterServer({"count": torch.zeros(3)}, torch.optim.Adam, state=state)
    again.push(one(0), 1)
    assert again.version == 2 and torch.equal(again.pull().parameters["count"], store.pull().parameters["count"])
    with pytest.raises(ValueError, match="Adam, not SGD"):
        ParameterServer({"count": torch.zeros(3)}, SGD, state=state)


@pytest.mark.parametrize(
    ("gradients", "words"),
    [
        ({"other": torch.zeros(3)}, "'other'.*'count'"),
        ({}, "'count'"),
        ({"count": torch.zeros(2)}, r"\(2,\).*\(3,\)"),
        ({"count": torch.zeros(3, dtype=torch.float64)}, "float64.*float32"),
        ({"count": torch.tensor([0.0, math.nan, 0.0])}, "'count' is not finite"),
        ({"count": torch.tensor([0.0, math.inf, 0.0])}, "'count' is not finite"),
        ({"count": torch.tensor([math.inf, -math.inf, 0.0])}, "'count' is not finite"),
    ],
)
def test_a_bad_push_is_named_and_changes_nothing(gradients, words):
    store = counting_store()
    with pytest.raises(ValueError, match=words):
        store.push(gradients, 0)
    assert store.version == 0 and store.pull().parameters["count"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_finite_gradient_whose_sum_overflows_is_taken(sign):
    largest = sign * torch.finfo(torch.float32).max
    store = ParameterServer({"a": torch.zeros(3), "b": torch.zeros(2, 2)}, partial(torch.optim.SGD, lr=1.0))
    gradients = {"a": torch.full((3,), largest), "b": torch.full((2, 2), largest)}
    assert not any(value.sum().isfinite() for value in gradients.values())
    assert store.push(gradients, 0) == 0 and store.version == 1
    assert store.pull().parameters["a"].tolist() == [-largest] * 3


@pytest.mark.parametrize("version", [-1, 1])
def test_a_push_from_a_version_that_does_not_exist_is_refused(version):
    with pytest.raises(ValueError, match=rf"version={version}.*at version 0"):
        counting_store().push(one(0), version)


@pytest.mark.parametrize(
    ("parameters", "optimizer", "words"),
    [
        ({"w": torch.zeros(2)}, torch.optim.LBFGS, "made a LBFGS"),
        ({"w": torch.zeros(2)}, torch.optim.SparseAdam, "made a SparseAdam"),
        ({"w": torch.zeros(2)}, lambda parameters: None, "made a NoneType"),
        ({}, SGD, "nothing to train"),
    ],
)
def test_what_cannot_be_a_store_is_refused(parameters, optimizer, words):
    with pytest.raises(ValueError, match=words):
        ParameterServer(parameters, optimizer)


def test_what_is_pulled_asks_for_no_gradient_and_what_was_pushed_is_let_go_of():
    store, gradients = counting_store(), one(0)
    reference = weakref.ref(gradients["count"])
    store.push(gradients, 0)
    del gradients
    assert reference() is None and not store.pull().parameters["count"].requires_grad


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_push_is_looked_at_whatever_its_size(size):
    store = ParameterServer({"w": torch.zeros(size), "v": torch.zeros(1)}, ONE)
    assert store.push({"w": torch.ones(size), "v": torch.zeros(1)}, 0) == 0
    for bad in (math.nan, math.inf):
        if size:
            with pytest.raises(NonFiniteError, match="'w'"):
                store.push({"w": torch.tensor([1.0] * (size - 1) + [bad]), "v": torch.zeros(1)}, 0)
    assert store.version == 1


def test_an_optimiser_that_failed_leaves_nothing_to_be_had_and_says_in_which_update():
    class Second(torch.optim.SGD):
        def step(self, closure=None):
            if store.version == 1:
                raise KeyboardInterrupt
            super().step()

    store = ParameterServer({"count": torch.zeros(3)}, partial(Second, lr=1.0))
    store.push(one(0), 0)
    with pytest.raises(KeyboardInterrupt):
        store.push(one(0), 1)
    for ask in (store.pull, store.state):
        with pytest.raises(ValueError, match="the optimiser failed in update 2, which may be half made: Keyboard"):
            ask()
