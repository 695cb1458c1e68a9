"""Soft placement: an op without a kernel on its device runs on the CPU, and its results return, counted and logged."""

import pytest
import torch

from course.devices import log_placement, place
from simgpu import simulated_gpus


@pytest.fixture(scope="module", autouse=True)
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


@torch.library.custom_op("test_fallback::double", mutates_args=(), device_types="cpu")
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


double.register_autograd(lambda ctx, gradient: gradient * 2)


@torch.library.custom_op("test_fallback::fill", mutates_args=("x",), device_types="cpu")
def fill(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


@torch.library.custom_op("test_fallback::split", mutates_args=(), device_types="cpu")
def split(x: torch.Tensor) -> list[torch.Tensor]:
    return [x[:1].clone(), x[1:].clone()]


def test_the_result_returns_to_the_device_and_both_moves_are_counted_and_logged():
    x = torch.ones(4, device="cuda:1")
    with log_placement() as log, place("/gpu:1", soft=True) as placement:
        y = double(x)
    assert (str(y.device), y.tolist()) == ("cuda:1", [2, 2, 2, 2])
    assert (placement.moves, placement.bytes_moved) == (2, 32)
    ran = [(r.op, r.device, r.bytes_moved, r.note) for r in log if r.op != "detach"]
    assert ran == [
        ("_to_copy", "/cpu:0", 16, "for test_fallback::double"),
        ("test_fallback::double", "/cpu:0", 0, "asked for /gpu:1: no kernel"),
        ("_to_copy", "/gpu:1", 16, "back from test_fallback::double"),
    ]


def test_what_lies_on_the_cpu_is_not_sent_there_and_back():
    with place("/gpu:0", soft=True) as placement:
        y = double(torch.ones(4, device="cpu"))
    assert str(y.device) == "cuda:0"
    assert placement.bytes_moved == 32, "there, before anybody knew, and the result"


def test_a_gradient_comes_back_to_its_leaf_whatever_ran_on_the_way():
    for where in ("cpu", "cuda:0"):
        x = torch.ones(3, device=where, requires_grad=True)
        with place("/gpu:0", soft=True):
            (double(x) * 3).sum().backward()
        assert (str(x.grad.device), x.grad.tolist()) == (where, [6, 6, 6])


def test_what_the_op_writes_to_is_written_where_it_lies():
    x = torch.zeros(3, device="cuda:0")
    with place("/gpu:0", soft=True) as placement:
        fill(x, 7.0)
    assert (str(x.device), x.tolist()) == ("cuda:0", [7, 7, 7])
    assert placement.bytes_moved == 24


def test_every_tensor_of_several_results_returns():
    with place("/gpu:0", soft=True):
        made = split(torch.arange(3.0, device="cuda:0"))
    assert [(str(t.device), t.tolist()) for t in made] == [("cuda:0", [0]), ("cuda:0", [1, 2])]


def test_hard_placement_names_the_op_and_both_ways_out():
    with pytest.raises(NotImplementedError) as caught, place("/gpu:0"):
        double(torch.ones(2, device="cuda:0"))
    assert str(caught.value).splitlines() == [
        "place(device='/gpu:0'): the op 'test_fallback::double' has no kernel there.",
        "Run it under place('/cpu:0'), or pass soft=True to run such ops on the CPU.",
    ]


def test_an_op_that_nobody_wrote_stays_an_error():
    @torch.library.custom_op("test_fallback::unwritten", mutates_args=())
    def unwritten(x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("not written yet")

    with pytest.raises(NotImplementedError, match="not written yet"), place("/gpu:0", soft=True):
        unwritten(torch.ones(2, device="cuda:0"))
