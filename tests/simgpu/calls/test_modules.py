"""Modules, optimisers and what they are trained with, on simulated GPUs and on the CPU: the same values."""

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


def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))


MODELS = {
    "cnn": (cnn, lambda: torch.randn(2, 1, 8, 8)),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)),
        lambda: torch.randn(5, 4),
    ),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), lambda: torch.randn(2, 3, 8)),
}


@pytest.mark.parametrize("name", MODELS)
def test_training_gives_the_cpus_losses(name):
    assert losses(name, "cuda:1") == pytest.approx(losses(name, "cpu"), rel=1e-5)


def losses(name, device):
    torch.manual_seed(0)
    build, data = MODELS[name]
    model, x = build().to(device), data().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    found = []
    for _ in range(3):
        optimiser.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        found.append(loss.item())
    assert (
        {p.device for p in model.parameters()} == {p.grad.device for p in model.parameters()} == {torch.device(device)}
    )
    return found


def test_recurrent_layers_and_packed_sequences_run():
    x = nn.utils.rnn.pack_padded_sequence(torch.randn(2, 5, 3, device=GPU), torch.tensor([5, 3]), batch_first=True)
    out, (h, _) = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True).to(GPU)(x)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    assert (padded.device, h.device, lengths.device.type) == (GPU, GPU, "cpu")


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}, {"capturable": True}])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop"])
def test_every_optimiser_takes_the_cpus_steps(name, options):
    if (
        "capturable" in options
        and name in ("SGD", "Adagrad")
        or "fused" in options
        and not name.startswith(("Ad", "SGD"))
    ):
        options = {}
    if "fused" in options and name in ("Adadelta", "Adamax"):
        options = {}
    if "fused" in options and name == "Adagrad" and torch.__version__ < (2, 13):  # not on CUDA, before
        options = {}
    plain = {key: value for key, value in options.items() if key == "foreach"}
    there, here = stepped(name, options, "cuda:1"), stepped(name, plain, "cpu")
    assert there.device == GPU and torch.allclose(there.cpu(), here, atol=1e-6)


def stepped(name, options, device):
    torch.manual_seed(1)
    model = nn.Linear(3, 2).to(device)
    optimiser = getattr(torch.optim, name)(model.parameters(), lr=0.1, **options)
    for _ in range(2):
        optimiser.zero_grad()
        model(torch.ones(1, 3, device=device)).square().sum().backward()
        optimiser.step()
    return model.weight.detach()


def test_a_module_goes_there_and_back_with_its_buffers():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).cuda(1)
    assert {t.device for t in (*model.parameters(), *model.buffers())} == {GPU}
    model.half().float().cpu()
    assert {type(p) for p in model.parameters()} == {nn.Parameter} and model[1].running_mean.device.type == "cpu"
    with torch.device("meta"):
        empty = nn.Linear(2, 2)
    assert empty.to_empty(device=GPU).weight.device == GPU


def test_state_dicts_cross_devices():
    there, here = cnn().to(GPU), cnn()
    here.load_state_dict(there.state_dict())
    assert torch.equal(here[0].weight, there[0].weight.cpu()) and type(here[0].weight) is nn.Parameter
    there.load_state_dict(here.state_dict())
    assert there[0].weight.device == GPU


def test_autocast_lowers_what_runs_there_and_nothing_at_home():
    layer = nn.Linear(2, 2, device=GPU)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        low, home = layer(torch.ones(1, 2, device=GPU)), torch.ones(2, 2) @ torch.ones(2, 2)
    assert (low.dtype, home.dtype) == (torch.bfloat16, torch.float32)
    low.sum().backward()
    assert (layer.weight.grad.device, layer.weight.grad.dtype) == (GPU, torch.float32)


def test_a_loader_pins_and_its_batches_go_there():
    data = torch.utils.data.TensorDataset(torch.arange(8.0), torch.arange(8))
    loader = torch.utils.data.DataLoader(data, 4, pin_memory=True)
    assert sum(x.to(GPU, non_blocking=True).sum().item() for x, _ in loader) == 28


def test_transforms_of_functions_run():
    x = torch.arange(3.0, device=GPU)
    assert torch.func.vmap(lambda a: a * 2)(x).device == GPU
    assert torch.func.grad(lambda a: (a**2).sum())(x).tolist() == [0, 2, 4]
    assert torch.autograd.functional.jacobian(lambda a: a**2, x).diagonal().tolist() == [0, 2, 4]


def test_losses_and_indices_stay_on_the_device():
    scores, wanted = torch.randn(4, 3, device=GPU), torch.tensor([0, 1, 2, 0], device=GPU)
    for loss in (F.cross_entropy(scores, wanted), F.nll_loss(scores, wanted), F.huber_loss(scores, scores)):
        assert loss.device == GPU
    assert {t.device for t in (*scores.topk(2), torch.nonzero(scores > 0), torch.unique(wanted))} == {GPU}
