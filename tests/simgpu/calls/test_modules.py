"""Modules on simulated GPUs: their parameters and buffers are where they were sent, and so are results."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

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


def test_losses_and_indices_stay_on_the_device():
    scores, wanted = torch.randn(4, 3, device=GPU), torch.tensor([0, 1, 2, 0], device=GPU)
    for loss in (F.cross_entropy(scores, wanted), F.nll_loss(scores, wanted), F.huber_loss(scores, scores)):
        assert loss.device == GPU
    assert {t.device for t in (*scores.topk(2), torch.nonzero(scores > 0), torch.unique(wanted))} == {GPU}
