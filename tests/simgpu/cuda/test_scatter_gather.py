"""One process, several devices: DataParallel and the copies under it, and what each device was busy with."""

import copy

import pytest
import torch
from torch.nn.parallel import comm

from simgpu import simulated_gpus

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def gpus():
    with simulated_gpus(3) as running:
        yield running


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


@pytest.mark.parametrize("devices", [[0, 1], [1, 0, 2], [2]])
def test_data_parallel_has_the_gradients_of_the_whole_batch(gpus, devices):
    batch, whole = torch.randn(7, 8), model()
    split = torch.nn.DataParallel(copy.deepcopy(whole).to(f"cuda:{devices[0]}"), device_ids=devices)
    whole(batch).square().sum().backward()
    output = split(batch.to(f"cuda:{devices[0]}"))
    assert output.device == torch.device("cuda", devices[0]) and output.shape == (7, 4)
    output.square().sum().backward()
    for ours, theirs in zip(split.module.parameters(), whole.parameters(), strict=True):
        assert ours.grad.device == ours.device
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
    busy = {span.lane for span in gpus.clock.spans if span.lane.endswith("compute")}
    assert busy >= {f"gpu:{index} compute" for index in devices}


def test_data_parallel_refuses_a_module_elsewhere_as_cuda_does():
    with pytest.raises(RuntimeError, match="module must have its parameters and buffers on device cuda:0"):
        torch.nn.DataParallel(model().to("cuda:1"), device_ids=[0, 1])(torch.ones(2, 8, device="cuda:0"))


def test_scatter_and_gather_are_each_others_inverse():
    rows = torch.arange(10.0).reshape(5, 2).to("cuda:0")
    parts = comm.scatter(rows, [0, 2, 1])
    assert [(part.device.index, len(part)) for part in parts] == [(0, 2), (2, 2), (1, 1)]
    assert torch.equal(comm.gather(parts, destination=1).cpu(), rows.cpu())
    assert comm.gather(parts, destination="cpu").device == CPU
    sized = comm.scatter(rows, [1, 0], chunk_sizes=[1, 4])
    assert [part.shape for part in sized] == [(1, 2), (4, 2)]
    with pytest.raises(RuntimeError):
        comm.scatter(rows, [0, 1], chunk_sizes=[1, 1])
    places = [torch.zeros(2, 2, device="cuda:1"), torch.zeros(3, 2, device="cuda:2")]
    comm.scatter(rows, out=places)
    assert places[1].device.index == 2 and torch.equal(torch.cat([p.cpu() for p in places]), rows.cpu())
    joined = torch.zeros(5, 2, device="cuda:0")
    assert comm.gather(places, out=joined) is joined and torch.equal(joined, rows)


def test_broadcast_and_its_sum():
    rows = torch.arange(4.0).to("cuda:1")
    copy_here, copy_there = comm.broadcast(rows, [1, 2])
    assert copy_here is rows and copy_there.device.index == 2
    assert torch.equal(comm.reduce_add([copy_here, copy_there], destination=1).cpu(), 2 * rows.cpu())
    both = comm.broadcast_coalesced([rows, rows + 1], [1, 0])
    assert [[tensor.device.index for tensor in some] for some in both] == [[1, 1], [0, 0]]
    (first, second) = comm.reduce_add_coalesced(both, destination=1)
    assert torch.equal(first.cpu(), 2 * rows.cpu()) and torch.equal(second.cpu(), 2 * rows.cpu() + 2)
    places = [torch.empty(4, device="cuda:0"), torch.empty(4, device="cuda:2")]
    assert all(torch.equal(place.cpu(), rows.cpu()) for place in comm.broadcast(rows, out=places))
