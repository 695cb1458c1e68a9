"""Files of simulated tensors are ordinary ones: read with and without a simulation, back where `map_location` says."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

from simgpu import simulated_gpus

GPU = torch.device("cuda", 1)


def written(value):
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def read(data, **options):
    return torch.load(io.BytesIO(data), weights_only=True, **options)


def test_a_file_goes_back_to_its_device_or_where_it_is_told():
    with simulated_gpus(2):
        data = written({"x": torch.arange(3.0, device=GPU), "w": nn.Parameter(torch.ones(2, device=GPU))})
        back = read(data)
        assert back["x"].device == back["w"].device == GPU and isinstance(back["w"], nn.Parameter)
        for place in ("cuda:0", torch.device("cuda:0"), {"cuda:1": "cuda:0"}, lambda storage, _: storage.cuda(0)):
            assert read(data, map_location=place)["x"].device.index == 0
    assert type(read(data, map_location="cpu")["w"]) is nn.Parameter
    assert read(data, map_location="cpu")["x"].tolist() == [0, 1, 2]
    assert b"course" not in data


def test_a_file_of_the_cpu_is_read_onto_a_device():
    data = written({"x": torch.arange(3.0)})
    with simulated_gpus(2):
        assert read(data, map_location=GPU)["x"].device == GPU
        assert type(read(data)["x"]) is torch.Tensor


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device, on which the file loads")
def test_without_the_simulation_torch_names_map_location():
    with simulated_gpus(2):
        data = written(torch.ones(1, device=GPU))
    with pytest.raises(RuntimeError, match="is_available.* is False. .*map_location"):
        read(data)


def test_a_device_that_the_next_simulation_lacks_is_named():
    with simulated_gpus(4):
        data = written(torch.ones(1, device="cuda:3"))
    with simulated_gpus(2), pytest.raises(RuntimeError, match="CUDA device 3 but torch.cuda.device_count.. is 2"):
        read(data)


def test_copies_and_pickles_keep_device_gradient_flag_and_kind():
    with simulated_gpus(2):
        leaf = torch.arange(2.0, device=GPU, requires_grad=True)
        for make in (copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
            assert (make(leaf).device, make(leaf).requires_grad, make(leaf).tolist()) == (GPU, True, [0, 1])
            assert isinstance(make(nn.Parameter(leaf.detach())), nn.Parameter)
