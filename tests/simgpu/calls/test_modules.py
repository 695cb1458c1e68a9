"""Modules on simulated GPUs: their parameters and buffers are where they were sent, and so are results."""

import copy

import pytest
import torch
from torch import nn

from simgpu import simulated_gpus

GPU = torch.device("cuda", 1)


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(2):
        yield


def test_a_module_goes_there_and_back_with_its_buffers():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).cuda(1)
    assert {t.device for t in (*model.parameters(), *model.buffers())} == {GPU}
    model.half().float().cpu()
    assert {type(p) for p in model.parameters()} == {nn.Parameter} and model[1].running_mean.device.type == "cpu"
    with torch.device("meta"):
        empty = nn.Linear(2, 2)
    assert empty.to_empty(device=GPU).weight.device == GPU


def test_state_dicts_cross_devices():
    simulated, plain = (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)) for _ in range(2))
    simulated.to(GPU)
    plain.load_state_dict(simulated.state_dict())
    assert torch.equal(plain[0].weight, simulated[0].weight.cpu()) and type(plain[0].weight) is nn.Parameter
    simulated.load_state_dict(plain.state_dict())
    assert simulated[0].weight.device == GPU


def test_a_module_moves_with_its_gradients_and_keeps_its_parameters_so_an_optimiser_made_before_trains_it():
    model = nn.Linear(3, 1)
    weight, optimiser = model.weight, torch.optim.SGD(model.parameters(), lr=0.1)
    assert model.to(GPU) is model and model.weight is weight and weight.is_leaf and weight.device == GPU
    before = weight.tolist()
    model(torch.ones(4, 3, device=GPU)).sum().backward()
    optimiser.step()
    model.cpu()
    assert weight.grad.device.type == weight.device.type == "cpu"
    assert model.to(GPU).double().weight.grad.dtype == torch.float64 and model.weight is weight
    twin = copy.deepcopy(weight)
    assert weight.tolist() == twin.tolist() != before and isinstance(twin, nn.Parameter)


OPTIMISERS = "SGD Adam AdamW Adagrad Adadelta Adamax ASGD NAdam RAdam RMSprop Rprop Adafactor".split()


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimisers_state_lies_where_its_parameter_does_and_what_it_counts_on_the_cpu(name):
    """But for ASGD, which counts on the device (torch/optim/adam.py, nadam.py, asgd.py: `_init_group`)."""
    weight = nn.Parameter(torch.ones(3, 2, device=GPU))
    optimiser = getattr(torch.optim, name)([weight], **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {}))
    weight.square().sum().backward()
    optimiser.step()
    on_the_cpu = {"step", "mu_product"} if name != "ASGD" else set()
    state = {key: value.device for key, value in optimiser.state[weight].items() if isinstance(value, torch.Tensor)}
    assert state == {key: torch.device("cpu") if key in on_the_cpu else GPU for key in state} != {}
