"""Programs that save, load, copy and share: checkpoints, older files, other devices, other processes."""

import copy
import io
import os
import pickle
import tempfile

import numpy
import torch
from torch import nn

from tests.simgpu.programs.harness import drawn, gpu, program


def written(thing):
    """Return a file with `thing` in it, at its beginning."""
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return file


@program
def training_goes_on_from_a_checkpoint():
    device, x = gpu(), drawn(4, 3)

    def parts():
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(device)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        return model, optimiser, torch.optim.lr_scheduler.StepLR(optimiser, 2), torch.amp.GradScaler(device)

    def steps(model, optimiser, plan, scaler, count):
        for _ in range(count):
            optimiser.zero_grad()
            loss = model(x.to(device)).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimiser)
            scaler.update()
            plan.step()
        return loss.item()

    first = parts()
    steps(*first, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        torch.save({"epoch": 3, "parts": [part.state_dict() for part in first], "rng": torch.get_rng_state()}, path)
        state = torch.load(path, map_location=device, weights_only=True)
    second = parts()
    for part, saved in zip(second, state["parts"], strict=True):
        part.load_state_dict(saved)
    torch.set_rng_state(state["rng"].cpu())
    return state["epoch"], steps(*first, 2), steps(*second, 2)


@program
def a_head_is_changed_and_the_rest_taken_over():
    device = gpu()
    old = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5)).to(device)
    new = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(device)
    taken = {name: p for name, p in torch.load(written(old.state_dict()), map_location="cpu").items() if "0." in name}
    report = new.load_state_dict(taken, strict=False)
    try:
        new.load_state_dict(old.state_dict())
    except RuntimeError as error:
        assert "size mismatch for 2.weight" in str(error)
    x = drawn(2, 3, device=device)
    return new[0](x), old[0](x), len(report.missing_keys), new.load_state_dict(taken, strict=False, assign=False)[1]


@program
def files_for_another_device():
    device = gpu()
    file = written({"x": torch.arange(4.0, device=device), "y": [torch.ones(2, dtype=torch.bfloat16, device=device)]})
    results = []
    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, place: storage):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert not loaded["x"].is_cuda
        results += [loaded["x"], loaded["y"][0].float()]
    file.seek(0)
    again = torch.load(file)
    assert again["x"].device.type == device
    return results, again["x"]


@program
def whole_modules_in_pickles():
    device = gpu()
    model, x = (
        nn.Sequential(nn.Conv1d(1, 2, 2), nn.Flatten(), nn.Linear(4, 1)).to(device),
        drawn(2, 1, 3, device=device),
    )
    unpickled = pickle.loads(pickle.dumps(model))
    loaded = torch.load(written(model), weights_only=False)
    shared = [weight := model[2].weight.detach(), weight.view(-1), x]
    again = torch.load(written(shared))
    again[1].zero_()
    return model(x), unpickled(x), loaded(x), again[0], again[2]


@program
def copies_are_deep():
    device = gpu()
    model, x = nn.Linear(3, 2).to(device), drawn(2, 3, device=device)
    optimiser = torch.optim.Adam(model.parameters())
    model(x).sum().backward()
    optimiser.step()
    twin, settings = copy.deepcopy(model), copy.deepcopy(optimiser.state_dict())
    tied = nn.ModuleList([model, model])
    both = copy.deepcopy(tied)
    assert both[0] is both[1] and twin.weight is not model.weight
    with torch.no_grad():
        model.weight.zero_()
    return twin.weight, model.weight, settings["state"][0]["exp_avg"], len(settings["param_groups"])


@program
def arrays_of_numpy_go_there_and_back():
    device = gpu()
    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    first = torch.from_numpy(array).to(device)
    second, third = torch.as_tensor(array, device=device), torch.tensor(array).to(device)
    back = (first * 2).cpu().numpy()
    try:
        refused = "" if device == "cpu" else first.numpy()
    except TypeError as error:
        refused = str(error)
    assert refused in ("", "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                       "host memory first.")  # fmt: skip
    mixed = second[0] * numpy.float32(2) + torch.tensor(numpy.int64(3), device=device)
    return (
        third,
        torch.from_numpy(back),
        mixed,
        first.detach().cpu().numpy().mean(),
        float(numpy.asarray(first.sum().cpu())),
    )


@program
def written_into_what_is_there():
    device = gpu()
    model, other = nn.Linear(3, 2).to(device), nn.Linear(3, 2)
    before = model.weight
    with torch.no_grad():
        model.weight.copy_(other.weight, non_blocking=True)
        model.bias.set_(torch.zeros(2, device=device))
        model.weight[0] = torch.tensor([1.0, 2.0, 3.0])
        model.weight[1, 1:] = 7.0
    assert model.weight is before and before.device.type == device
    assigned = nn.Linear(3, 2, device="meta")
    assigned.load_state_dict(model.state_dict(), assign=True)
    empty = nn.Linear(3, 2, device="meta").to_empty(device=device)
    empty.load_state_dict(other.state_dict())
    return model.weight, model.bias, assigned(torch.ones(3, device=device)), empty.weight


@program
def random_numbers_are_kept_and_set_again():
    device = gpu()
    torch.manual_seed(3)
    if device == "cuda":
        torch.cuda.manual_seed_all(3)
        state = torch.cuda.get_rng_state()
    else:
        state = torch.get_rng_state()
    first = torch.randn(3, device=device)
    (torch.cuda.set_rng_state if device == "cuda" else torch.set_rng_state)(state)
    second = torch.randn(3, device=device)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(9)
        inside = torch.rand(2, device=device)
    chance = torch.Generator(device=device).manual_seed(5)
    third = torch.empty(3, device=device).normal_(generator=chance)
    again = torch.normal(0.0, 1.0, (3,), generator=chance.manual_seed(5), device=device)
    assert torch.equal(first, second) and torch.equal(third, again)
    return first, inside, third, torch.randperm(5, device=device, generator=chance.manual_seed(1))
