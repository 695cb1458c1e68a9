"""Saved and loaded: where what was saved comes back to."""

import io

import torch
from torch import nn

from tests.slow.conformance.programs.data import normal, seeded


def _written(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


def _read(data, **options):
    return torch.load(io.BytesIO(data), weights_only=True, **options)


def tensors(device):
    x = normal(2, 3).to(device)
    data = _written({"x": x, "row": x[1], "more": [x.double()]})
    yield "as saved", _read(data), device
    yield "home", _read(data, map_location="cpu"), "cpu"
    yield "by device", _read(data, map_location=torch.device("cpu")), "cpu"
    yield "by table", _read(data, map_location={str(x.device): "cpu"}), "cpu"
    yield "by function", _read(data, map_location=lambda storage, location: storage), "cpu"
    yield "there", _read(_written(normal(2)), map_location=device), device
    yield "plain stays", _read(_written(normal(2))), "cpu"


def state_dicts(device):
    model = seeded(lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))).to(device)
    state = model.state_dict()
    yield "state", dict(state), device
    data = _written(state)
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    yield "keys", [str(k) for k in other.load_state_dict(_read(data, map_location="cpu"))], "cpu"
    yield "loaded at home", other, "cpu"
    third = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(device)
    third.load_state_dict(_read(data, map_location="cpu"))
    yield "loaded there from a CPU copy", third, device
    fourth = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    fourth.load_state_dict(state)
    yield "loaded at home from there", fourth, "cpu"
    fifth = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(device)
    fifth.load_state_dict(_read(data), assign=True)
    yield "assigned", fifth, device


def a_checkpoint(device):
    """Model and optimiser stop, are saved, and go on as if nothing had happened."""

    def built():
        model = seeded(lambda: nn.Linear(3, 1)).to(device)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimiser):
        optimiser.zero_grad()
        model(normal(4, 3).to(device)).square().mean().backward()
        optimiser.step()

    model, optimiser = built()
    for _ in range(2):
        step(model, optimiser)
    data = _written({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "epoch": 2})
    step(model, optimiser)
    resumed, its_optimiser = built()
    checkpoint = _read(data, map_location="cpu")
    resumed.load_state_dict(checkpoint["model"])
    its_optimiser.load_state_dict(checkpoint["optimiser"])
    step(resumed, its_optimiser)
    yield "uninterrupted", model, device
    yield "resumed", resumed, device
    yield "its optimiser", its_optimiser, device
    yield "equal", all(torch.equal(a, b) for a, b in zip(model.parameters(), resumed.parameters(), strict=True)), device


def whole_modules(device):
    model = seeded(lambda: nn.Linear(2, 2)).to(device)
    with torch.serialization.safe_globals([nn.Linear, set]):
        loaded = _read(_written(model))
    yield "loaded", loaded, device
    yield (
        "kind",
        [type(loaded) is nn.Linear, isinstance(loaded.weight, nn.Parameter), loaded.weight.requires_grad],
        device,
    )


PROGRAMS = [tensors, state_dicts, a_checkpoint, whole_modules]
