"""Replicas: shares cover all, split products and replicated modules equal one device's, the ring adds up."""

import copy
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from queue import Queue

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from course.devices import log_placement, simulated_gpus
from course.replicas import replicate, ring_all_reduce, shares, split_matmul

WAYS = ("rows", "columns", "inner")
TWO_GPUS = ["/gpu:0", "/gpu:1"]
weights_of = st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any)


@pytest.fixture
def gpus():
    with simulated_gpus(2) as running:
        yield running


def whole(rows, columns, start=0):
    """A float64 matrix of small whole numbers: sums of products are exact in any order."""
    return (torch.arange(rows * columns).reshape(rows, columns) * 5 + start).remainder(11).double() - 5


# --- shares -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 50), weights_of)
def test_shares_cover_everything_once_in_order_and_are_as_large_as_their_weights(length, weights):
    parts = shares(length, len(weights), weights)
    assert [place for part in parts for place in range(length)[part]] == list(range(length))
    for part, weight in zip(parts, weights, strict=True):
        assert abs((part.stop - part.start) - length * weight / sum(weights)) < 1


@given(st.integers(0, 50), st.integers(1, 8))
def test_shares_without_weights_differ_by_one_at_most(length, parts):
    sizes = [part.stop - part.start for part in shares(length, parts)]
    assert max(sizes) - min(sizes) <= 1 and sum(sizes) == length


def test_shares_by_weights_that_are_no_binary_fractions_lose_no_row():
    ends = [part.stop for part in shares(10, 10, [0.1] * 10)]
    assert ends == list(range(1, 11))


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, float("inf")], [1, float("nan")]])
def test_shares_refuse_weights_that_do_not_fit_and_no_parts(weights):
    with pytest.raises(ValueError, match=r"give 2 numbers from 0 up, .* such as \[1, 1\]"):
        shares(4, 2, weights)
    with pytest.raises(ValueError, match="at least one part"):
        shares(4, 0)


# --- split_matmul -----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 7), weights_of, st.sampled_from(WAYS))
def test_a_split_product_is_the_product_bit_for_bit_on_whole_numbers(n, k, m, weights, by):
    a, b = whole(n, k), whole(k, m, start=3)
    got = split_matmul(a, b, ["/cpu:0"] * len(weights), by=by, weights=weights)
    assert torch.equal(got, a @ b) and got.dtype == a.dtype


@pytest.mark.parametrize("by", WAYS)
def test_a_split_product_runs_on_each_device_and_comes_home(gpus, by):
    a, b = whole(6, 8), whole(8, 5)
    with log_placement() as log:
        got = split_matmul(a, b, TWO_GPUS, by=by)
    assert got.device.type == "cpu" and torch.equal(got, a @ b)
    assert [record.device for record in log if record.op == "mm"] == TWO_GPUS


@pytest.mark.parametrize(
    "by, moved",
    [("rows", 6 * 8 + 2 * 8 * 5 + 6 * 5), ("columns", 2 * 6 * 8 + 8 * 5 + 6 * 5), ("inner", 6 * 8 + 8 * 5 + 2 * 6 * 5)],
)
def test_the_bytes_that_a_split_moves_are_those_of_the_formula(gpus, by, moved):
    with log_placement() as log:
        split_matmul(whole(6, 8), whole(8, 5), TWO_GPUS, by=by)
    assert log.bytes_moved == 8 * moved


@pytest.mark.parametrize("by", WAYS)
def test_gradients_of_a_split_product_are_right_and_beside_their_leaves(gpus, by):
    a, b = whole(5, 4).requires_grad_(), whole(4, 3).to("cuda:1").requires_grad_()
    split_matmul(a, b, TWO_GPUS, by=by, weights=[3, 1]).square().sum().backward()
    plain_a, plain_b = a.detach().requires_grad_(), b.detach().cpu().requires_grad_()
    (plain_a @ plain_b).square().sum().backward()
    assert a.grad.device.type == "cpu" and b.grad.device == torch.device("cuda", 1)
    assert torch.equal(a.grad, plain_a.grad) and torch.equal(b.grad.cpu(), plain_b.grad)


def test_a_device_without_a_share_is_sent_nothing(gpus):
    with log_placement() as log:
        split_matmul(whole(4, 3), whole(3, 2), TWO_GPUS, weights=[0, 1])
    assert {record.device for record in log} == {"/cpu:0", "/gpu:1"}


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((torch.ones(2, 3), torch.ones(2, 3), ["/cpu:0"]), r"shapes \(2, 3\) and \(2, 3\) don't fit"),
        ((torch.ones(3), torch.ones(3, 1), ["/cpu:0"]), r"give \(n, k\) and \(k, m\)"),
        ((torch.ones(2, 2), torch.ones(2, 2), []), "name at least one"),
        ((torch.ones(2, 2), torch.ones(2, 2), ["/gpu:120"]), r"this machine has /cpu:0"),
        ((torch.ones(2, 2), torch.ones(2, 2), ["/cpu:0"], "blocks"), "cut 'rows', 'columns', 'inner'"),
    ],
)
def test_a_product_that_can_not_be_split_is_refused_with_what_is_legal(arguments, words):
    with pytest.raises(ValueError, match=words):
        split_matmul(*arguments)


# --- replicate --------------------------------------------------------------------------------------------------------


def network(width=4):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, width), nn.Sigmoid(), nn.Linear(width, 2)).double()


def rows_of(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 3, generator=generator, dtype=torch.float64), torch.arange(count) % 2


def tensors(module):
    return [tensor.detach().cpu() for tensor in module.state_dict().values()]


OPTIMIZERS = [
    lambda parameters: torch.optim.SGD(parameters, lr=0.5, momentum=0.9),
    lambda parameters: torch.optim.Adam(parameters, lr=0.1),
]


@settings(max_examples=30)
@given(st.integers(1, 9), weights_of, st.sampled_from(OPTIMIZERS), st.integers(0, 99))
def test_steps_on_replicas_are_those_of_one_device_to_rounding(rows, weights, optimizer, seed):
    alone, model = network(), network()
    both = replicate(model, ["/cpu:0"] * len(weights), weights)
    by_hand, by_replicas = optimizer(alone.parameters()), optimizer(both.parameters())
    for step in range(3):
        x, y = rows_of(rows, seed + step)
        by_hand.zero_grad()
        loss = functional.cross_entropy(alone(x), y)
        loss.backward()
        by_hand.step()
        assert both.step(by_replicas, functional.cross_entropy, x, y) == pytest.approx(loss.item(), rel=1e-12)
    for mine, theirs in zip(tensors(model), tensors(alone), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)
    for twin in both.copies:
        assert all(map(torch.equal, tensors(twin), tensors(model)))


def test_replicas_compute_on_their_devices_and_the_master_stays_where_it_is(gpus):
    model = network()
    both = replicate(model, TWO_GPUS, weights=[2, 1])
    optimizer = torch.optim.SGD(both.parameters(), lr=0.1)
    x, y = rows_of(9, 0)
    with log_placement() as log:
        both.step(optimizer, functional.cross_entropy, x, y)
    rows = [(r.device, r.made[0][0]) for r in log.forward if r.op == "addmm" and r.made[0][1] == 2]
    assert rows == [("/gpu:0", 6), ("/gpu:1", 3)]
    assert {p.grad.device.type for p in model.parameters()} == {"cpu"}
    assert {p.device for p in both.copies[1].parameters()} == {torch.device("cuda", 1)}
    torch.testing.assert_close(both.forward(x), model(x).detach())


def test_more_replicas_than_rows_leave_some_without_work():
    model = network()
    many = replicate(model, ["/cpu:0"] * 4)
    x, y = rows_of(1, 3)
    many.backward(functional.cross_entropy, x, y)
    wanted = copy.deepcopy(model)
    wanted.zero_grad()
    functional.cross_entropy(wanted(x), y).backward()
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(model.parameters(), wanted.parameters(), strict=True))


def test_buffers_are_averaged_by_share_and_equal_afterwards():
    model = nn.BatchNorm1d(3, momentum=1.0).double()
    both = replicate(model, ["/cpu:0"] * 2, weights=[3, 1])
    x, _ = rows_of(8, 5)
    both.forward(x)
    torch.testing.assert_close(model.running_mean, (6 * x[:6].mean(0) + 2 * x[6:].mean(0)) / 8)
    assert model.num_batches_tracked == 1
    for twin in both.copies:
        assert all(map(torch.equal, tensors(twin), tensors(model)))


def test_a_constant_buffer_stays_what_it_is_to_the_last_bit():
    model = nn.Linear(3, 1)
    model.register_buffer("scale", torch.tensor([0.1, 0.7, 1 / 3]))
    before = model.scale.clone()
    many = replicate(model, ["/cpu:0"] * 3)
    many.forward(torch.ones(7, 3))
    assert torch.equal(model.scale, before)


def test_what_is_done_to_the_master_is_seen_by_the_copies_at_their_next_batch():
    model, other = network(), network()
    for parameter in other.parameters():
        nn.init.constant_(parameter, 0.25)
    both = replicate(model, ["/cpu:0"] * 2)
    model.load_state_dict(other.state_dict())
    model.eval()
    model[0].weight.requires_grad_(False)
    x, y = rows_of(5, 1)
    torch.testing.assert_close(both.forward(x), other(x).detach())
    both.backward(functional.cross_entropy, x, y)
    assert not any(twin.training for twin in both.copies)
    assert model[0].weight.grad is None and model[2].weight.grad is not None


def test_tied_parameters_get_the_sum_of_their_gradients_once():
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)).double()
    model[1].weight = model[0].weight
    alone = copy.deepcopy(model)
    x, _ = rows_of(6, 2)
    replicate(model, ["/cpu:0"] * 2).backward(functional.mse_loss, x, x)
    functional.mse_loss(alone(x), x).backward()
    torch.testing.assert_close(model[0].weight.grad, alone[0].weight.grad)
    assert model[1].weight is model[0].weight


class Switch(nn.Module):
    """Uses its second layer only where the first column is negative."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 1).double(), nn.Linear(3, 1).double()

    def forward(self, x):
        return self.second(x) if (x[:, 0] < 0).all() else self.first(x)


def test_a_parameter_that_only_a_later_copy_used_keeps_its_gradient():
    model = Switch()
    x = torch.tensor([[1.0, 0, 0], [-1.0, 0, 0]], dtype=torch.float64)
    replicate(model, ["/cpu:0"] * 2).backward(functional.mse_loss, x, torch.zeros(2, 1, dtype=torch.float64))
    assert model.first.weight.grad.any() and model.second.weight.grad.any()


@pytest.mark.parametrize("batch", [(), (torch.ones(0, 3), torch.ones(0)), (torch.ones(2, 3), torch.ones(3))])
def test_a_batch_that_has_no_rows_or_does_not_fit_is_refused_with_its_lengths(batch):
    with pytest.raises(ValueError, match="the same number of rows each, at least 1"):
        replicate(network(), ["/cpu:0"]).backward(functional.cross_entropy, *batch)


@pytest.mark.parametrize("devices, words", [([], "name at least one"), (["/gpu:120"], "this machine has /cpu:0")])
def test_replicas_on_no_device_are_refused(devices, words):
    with pytest.raises(ValueError, match=words):
        replicate(network(), devices)


# --- ring -------------------------------------------------------------------------------------------------------------


def around(values, look=lambda rank: None):
    """Run the ring with a thread a rank; return the bytes that each gave. `look(rank)` is called before each step."""
    size = len(values)
    mailboxes, sent = [Queue() for _ in range(size)], [0] * size

    def run(rank):
        def give(tensor):
            look(rank)
            sent[rank] += tensor.numel() * tensor.element_size()
            mailboxes[(rank + 1) % size].put(tensor.clone())

        ring_all_reduce(values[rank], rank, size, give, lambda like: mailboxes[rank].get(timeout=60))

    with ThreadPoolExecutor(size) as pool:
        list(pool.map(run, range(size)))
    return sent


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(0, 23))
def test_after_the_ring_every_rank_has_the_sum(size, length):
    values = [whole(1, length, start=rank)[0] for rank in range(size)]
    wanted = sum(value.clone() for value in values)
    around(values)
    assert all(torch.equal(value, wanted) for value in values)


def test_after_the_ring_all_ranks_have_the_same_bits_of_floats_that_round():
    values = [torch.randn(101, generator=torch.Generator().manual_seed(rank)) for rank in range(4)]
    wanted = sum(value.double() for value in values)
    around(values)
    assert all(torch.equal(one, other) for one, other in pairwise(values))
    torch.testing.assert_close(values[0].double(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_a_rank_gives_less_than_twice_the_bytes_however_many_there_are(size):
    sent = around([torch.ones(60) for _ in range(size)])
    assert sent == [2 * (size - 1) * 60 * 4 // size] * size


def test_two_gpus_beat_one_when_pinned_factors_are_copied_at_once_and_lose_when_pageable_ones_go_in_turn():
    a = torch.ones(1500, 1500)
    gains = []
    with simulated_gpus(2) as gpus:
        for factor in (a, a.pin_memory()):
            seconds = []
            for devices in (["/gpu:0"], ["/gpu:0", "/gpu:1"]):
                with gpus.clock.timed() as took:
                    split_matmul(factor, factor, devices)
                seconds.append(took.seconds)
            gains.append(seconds[0] / seconds[1])
    assert gains == [pytest.approx(0.77, abs=0.01), pytest.approx(1.09, abs=0.01)]
